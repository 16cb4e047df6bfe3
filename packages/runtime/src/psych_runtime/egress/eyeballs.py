"""The first of several addresses that takes a connection, without waiting long for one that never will."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

import anyio
import anyio.abc

from psych_runtime_core.ports.egress import IPAddress

# RFC 8305: the recommended delay between two attempts.
ATTEMPT_SECONDS = 0.25

Dial: TypeAlias = Callable[[IPAddress, int], Awaitable[anyio.abc.ByteStream]]
Connected: TypeAlias = "tuple[anyio.abc.ByteStream, IPAddress]"


def alternating(addresses: Sequence[IPAddress]) -> list[IPAddress]:
    """Each address once, in the resolver's order, but of one family and the other by turns."""
    once = list(dict.fromkeys(addresses))
    first = [address for address in once if address.version == once[0].version]
    second = [address for address in once if address.version != once[0].version]
    pairs = chain.from_iterable(zip_longest(first, second))
    return [address for address in pairs if address is not None]


async def first_connected(addresses: Sequence[IPAddress], port: int, dial: Dial) -> Connected:
    """The connection that came about first, and where to; `OSError` of the last attempt when none did.

    The next address is tried 250 ms after the one before, or as soon as that failed.
    """
    race = _Race(port, dial)
    try:
        async with anyio.create_task_group() as race.group:
            for address in alternating(addresses):
                failed = anyio.Event()
                race.group.start_soon(race.attempt, address, failed)
                with anyio.move_on_after(ATTEMPT_SECONDS):
                    await failed.wait()
    except BaseException:
        if race.won is not None:
            await anyio.aclose_forcefully(race.won[0])
        raise
    if race.won is None:
        raise race.errors[-1]
    return race.won


class _Race:
    group: anyio.abc.TaskGroup

    def __init__(self, port: int, dial: Dial) -> None:
        self._port, self._dial = port, dial
        self.won: Connected | None = None
        self.errors: list[OSError] = []

    async def attempt(self, address: IPAddress, failed: anyio.Event) -> None:
        try:
            stream = await self._dial(address, self._port)
        except OSError as error:
            self.errors.append(error)
            failed.set()
            return
        if self.won is None:
            self.won = (stream, address)
            self.group.cancel_scope.cancel()
        else:
            await anyio.aclose_forcefully(stream)

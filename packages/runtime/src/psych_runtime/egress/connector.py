"""Where connections come from: a name is resolved once, each address judged, none other connected to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from socket import SOCK_STREAM
from typing import TypeAlias

import anyio
import httpcore2

from psych_runtime.egress.eyeballs import Connected, first_connected
from psych_runtime.egress.hop import hop_of_this_task
from psych_runtime.egress.judge import judged_addresses
from psych_runtime.egress.sockets import dial
from psych_runtime.egress.wire import Wire, faults
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressPolicy, IPAddress

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str | IPAddress]]]
"""Gives the addresses of a host, the best first; raises `OSError` when it has none."""


async def resolve(host: str, port: int) -> Sequence[str | IPAddress]:
    """What the resolver of the system makes of a host, odd spellings of addresses included."""
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return [place[0] for *_, place in found]


class Connector(httpcore2.AsyncNetworkBackend):
    """Connects for the hop of the running task. With `policy` None nobody is asked: the way to a proxy."""

    def __init__(self, policy: EgressPolicy | None, resolver: Resolver | None) -> None:
        self._policy = policy
        self._resolve = resolver or resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - of the interface; no pool of ours sets it
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to one of the host's addresses. `AccessDenied` when the policy refuses any of them."""
        with faults(httpcore2.ConnectTimeout, httpcore2.ConnectError), anyio.fail_after(timeout):
            stream, address = await self._connected(host, port)
        return Wire(stream, str(address))

    async def _connected(self, host: str, port: int) -> Connected:
        addresses = [ip_address(address) for address in await self._addresses(host, port)]
        if not addresses:
            raise OSError("its name leads to no address")
        if self._policy is not None:
            asked = hop_of_this_task.get().asked
            decision = await judged_addresses(self._policy, asked, addresses)
            if not decision.allowed:
                raise AccessDenied(asked.origin, decision.reason)
        return await first_connected(addresses, port, dial)

    async def _addresses(self, host: str, port: int) -> Sequence[str | IPAddress]:
        try:
            return await self._resolve(host, port)
        except UnicodeError:
            # The resolver of the system encodes a name before it looks it up.
            raise OSError("its name cannot be looked up") from None

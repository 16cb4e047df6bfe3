"""Waiting for whichever comes first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from psych_runtime_core.clock import Clock

T = TypeVar("T")


async def first_of(*waits: Callable[[], Awaitable[T]]) -> T:
    """The result of the first wait that ends; the others are cancelled."""
    results: list[T] = []

    async def run(wait: Callable[[], Awaitable[T]]) -> None:
        results.append(await wait())
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for wait in waits:
            group.start_soon(run, wait)
    return results[0]


async def within(seconds: float, clock: Clock, wait: Callable[[], Awaitable[T]]) -> T | None:
    """The result of `wait`, None when it has not ended after `seconds` of `clock`."""

    async def alarm() -> None:
        await clock.sleep(seconds)

    return await first_of(wait, alarm)

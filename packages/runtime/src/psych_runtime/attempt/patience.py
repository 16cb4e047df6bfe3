"""Asking a store that is away for now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from psych_runtime.attempt.hold import Hold
from psych_runtime.attempt.pauses import Pauses
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreUnavailable

T = TypeVar("T")


async def patiently(call: Callable[[], Awaitable[T]], clock: Clock, seconds: float) -> T:
    """What a store answers to a call that may be repeated, asked for about so long.

    Raises `StoreUnavailable` when it is away for longer.
    """
    pauses, ends_at = Pauses(clock), clock.monotonic() + seconds
    while True:
        try:
            return await call()
        except StoreUnavailable:
            if clock.monotonic() >= ends_at:
                raise
            await pauses.sleep()


async def answered(call: Callable[[], Awaitable[T]], hold: Hold, clock: Clock) -> T:
    """What the store answers to a call that may be repeated, asked until it does.

    Raises `LeaseLost` when the fence comes first.
    """
    pauses = Pauses(clock)
    while True:
        try:
            return await call()
        except StoreUnavailable:
            hold.check()
            await pauses.sleep()
            hold.check()

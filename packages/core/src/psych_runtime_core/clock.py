"""Time, as a port: Psych owns no clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Where time comes from, and how to wait for it. All waiting of a Worker goes through it."""

    def now(self) -> datetime:
        """The wall clock, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back and that a suspended host goes on counting."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; 0 or less gives the loop one turn."""
        ...


class SystemClock:
    """The machine's own clocks. Monotonic time is `CLOCK_BOOTTIME` where there is one."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.clock_gettime(_MONOTONIC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))

"""Pauses between tries of something that is away for now."""

from __future__ import annotations

import random

from psych_runtime_core.clock import Clock


class Pauses:
    """Pauses that double from `first` to `longest` seconds, each between half of that and all of it."""

    def __init__(self, clock: Clock, *, first: float = 0.1, longest: float = 2.0) -> None:
        self._clock, self._first, self._longest = clock, first, longest
        self._count = 0

    async def sleep(self) -> None:
        pause = min(self._first * 2**self._count, self._longest)
        self._count += 1
        await self._clock.sleep(pause * random.uniform(0.5, 1.0))

    def reset(self) -> None:
        self._count = 0

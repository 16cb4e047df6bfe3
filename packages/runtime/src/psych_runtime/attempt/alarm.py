"""Wakes an Attempt at the moment it asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import anyio
import anyio.abc

from psych_runtime_core.clock import Clock


class Alarm:
    """Rings at one moment at a time. Most Attempts ask for their deadline alone, so it is seldom reset."""

    def __init__(self, group: anyio.abc.TaskGroup, clock: Clock, ring: Callable[[], None]) -> None:
        self._group, self._clock, self._ring = group, clock, ring
        self._at: datetime | None = None
        self._scope = anyio.CancelScope()

    def set(self, at: datetime | None) -> None:
        """Ring at `at`, and no more at the moment set before; None: not at all."""
        if at == self._at:
            return
        self._at = at
        self._scope.cancel()
        self._scope = anyio.CancelScope()
        if at is not None:
            self._group.start_soon(self._sleep, at, self._scope)

    async def _sleep(self, at: datetime, scope: anyio.CancelScope) -> None:
        with scope:
            await self._clock.sleep((at - self._clock.now()).total_seconds())
            self._at = None
            self._ring()

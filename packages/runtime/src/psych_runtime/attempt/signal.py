"""One task waits, others wake it."""

from __future__ import annotations

import anyio

from psych_runtime_core.clock import Clock


class Signal:
    """Set until somebody has waited for it. A set that comes before the wait is not lost."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until set, for at most `seconds`; whether it was."""
        if not self._event.is_set():
            await self._sleep(seconds)
        was_set = self._event.is_set()
        self._event = anyio.Event()
        return was_set

    async def _sleep(self, seconds: float | None) -> None:
        if seconds is None:
            await self._event.wait()
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._alarm, seconds, group.cancel_scope)
            await self._event.wait()
            group.cancel_scope.cancel()

    async def _alarm(self, seconds: float, scope: anyio.CancelScope) -> None:
        await self._clock.sleep(seconds)
        scope.cancel()

"""How an effect is told to end before its time."""

from __future__ import annotations

from enum import StrEnum

import anyio


class CutReason(StrEnum):
    """Why: the Run stops, or its Worker does."""

    RUN_STOPS = "run_stops"
    WORKER_STOPS = "worker_stops"


class Cut:
    """A request to end early, made once. Who performs an effect watches it and says how the effect ended."""

    def __init__(self) -> None:
        self.reason: CutReason | None = None
        self._event = anyio.Event()

    @property
    def made(self) -> bool:
        return self.reason is not None

    def make(self, reason: CutReason) -> None:
        if self.reason is None:
            self.reason = reason
            self._event.set()

    async def wait(self) -> CutReason:
        """The reason, once there is one."""
        await self._event.wait()
        assert self.reason is not None, "the event is set with the reason"
        return self.reason

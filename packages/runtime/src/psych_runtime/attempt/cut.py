"""How an effect is told to end before its time."""

from __future__ import annotations

from enum import StrEnum

import anyio

# Code that may be cut unwinds in this time, or counts as code that does not.
UNWIND_SECONDS = 5.0


class CutReason(StrEnum):
    """Why: the Run stops, or its Worker does."""

    RUN_STOPS = "run_stops"
    WORKER_STOPS = "worker_stops"


class Cut:
    """A request to end early, made once. Who performs an effect says where it is heeded, and what follows."""

    def __init__(self) -> None:
        self.reason: CutReason | None = None
        self._scope = anyio.CancelScope()

    def make(self, reason: CutReason) -> None:
        """Cancel what is heeding now, and whatever will."""
        if self.reason is None:
            self.reason = reason
            self._scope.cancel()

    def heeded(self) -> anyio.CancelScope:
        """A block that the cut cancels; when it is left without a result, `reason` is set."""
        self._scope = anyio.CancelScope()
        if self.reason is not None:
            self._scope.cancel()
        return self._scope

"""What an Attempt waits for: effects that end, and signals from its Worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psych_runtime.attempt.signal import Signal
from psych_runtime_core.clock import Clock
from psych_runtime_core.engine.effects import Effect
from psych_runtime_core.records import Record


@dataclass(frozen=True, slots=True)
class Brought:
    """What an effect brought back. Records of a `begin` are not observed: they can be asked for again."""

    effect: Effect
    records: tuple[Record, ...]
    observed: bool


class Inbox:
    """Collects what comes, and wakes the one task that waits for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._signal = clock, Signal(clock)
        self._brought: list[Brought] = []
        self.moved = False

    def put(self, brought: Brought) -> None:
        """An effect has ended."""
        self._brought.append(brought)
        self._signal.set()

    def wake(self, *, moved: bool = False) -> None:
        """Look again; `moved`: somebody else may have written to the log."""
        self.moved = self.moved or moved
        self._signal.set()

    def take(self) -> Sequence[Brought]:
        """What has come so far."""
        taken, self._brought = self._brought, []
        return taken

    async def wait(self, until: datetime | None) -> Sequence[Brought]:
        """What comes next; nothing when woken, or at `until`."""
        seconds = None if until is None else (until - self._clock.now()).total_seconds()
        await self._signal.wait(seconds)
        return self.take()

"""What an Attempt waits for: effects that end, and signals from its Worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psych_runtime.attempt.signal import Signal
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

    def __init__(self) -> None:
        self._brought: list[Brought] = []
        self._signal = Signal()
        self.moved = False

    def put(self, brought: Brought) -> None:
        """An effect has ended."""
        self._brought.append(brought)
        self._signal.set()

    def wake(self) -> None:
        """Look again: the time has come, or the Worker wants something."""
        self._signal.set()

    def moved_on(self) -> None:
        """Somebody else may have written to the log."""
        self.moved = True
        self._signal.set()

    def take(self) -> Sequence[Brought]:
        """What has come so far."""
        taken, self._brought = self._brought, []
        return taken

    async def wait(self) -> Sequence[Brought]:
        """What comes next; nothing when only woken."""
        await self._signal.wait()
        return self.take()

"""The slots of a Worker, and who waits in one of them for a Run that needs another."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from psych_runtime_core.errors import NoFreeSlot
from psych_runtime_core.ids import RunId


@dataclass(eq=False)
class Awaited:
    """A Run that somebody in a slot waits for; it gets its id when it is dispatched."""

    run_id: RunId | None = None


class Slots:
    """Which Runs have a slot, and which are waited for by code that holds one."""

    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency
        self._seated: set[RunId] = set()
        self._awaited: list[Awaited] = []

    @contextmanager
    def seat(self, run_id: RunId) -> Generator[None]:
        """Holds a slot for `run_id`. What runs inside finds these slots in `current_slots`."""
        self._seated.add(run_id)
        token = current_slots.set(self)
        try:
            yield
        finally:
            current_slots.reset(token)
            self._seated.discard(run_id)

    @contextmanager
    def awaiting(self, run_id: RunId | None) -> Generator[Awaited]:
        """Keeps a slot free for `run_id` (None: for a Run still to be dispatched) while it is waited for.

        Raises `NoFreeSlot` when none is left. A Run that has a slot, or that another waits for, needs none.
        """
        awaited = Awaited(run_id)
        if self._promised(awaited) > self.concurrency - len(self._seated):
            raise NoFreeSlot(run_id, self.concurrency)
        self._awaited.append(awaited)
        try:
            yield awaited
        finally:
            self._awaited.remove(awaited)

    def _promised(self, one_more: Awaited) -> int:
        """How many slots are needed for what is waited for."""
        waits = [awaited.run_id for awaited in (*self._awaited, one_more)]
        named = {run_id for run_id in waits if run_id is not None} - self._seated
        return len(named) + waits.count(None)


current_slots: ContextVar[Slots | None] = ContextVar("current_slots", default=None)
"""The slots of the Worker whose Attempt this code runs in."""

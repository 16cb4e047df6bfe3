"""A claimed Run, as its Worker and its Attempt both know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from psych_runtime.attempt.hold import Hold
from psych_runtime.attempt.inbox import Inbox
from psych_runtime.attempt.journal import Journal
from psych_runtime.attempt.loaded import Loaded
from psych_runtime_core.records import Head


@dataclass
class Seat:
    """The lease, the inbox by which the Worker wakes the Attempt, and what was folded before.

    `on_head` is told the head of each write before it is made.
    """

    hold: Hold
    inbox: Inbox
    on_head: Callable[[Head], None]
    loaded: Loaded | None = None
    journal: Journal | None = None

    def renewed_at(self, head: Head | None) -> None:
        """The lease was renewed; a head that is not ours means that somebody else wrote."""
        if self.journal is not None and head is not None and head != self.journal.head:
            self.inbox.moved_on()

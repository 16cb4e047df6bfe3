"""What a commit writes: the beginning of a Run, or what its log grows by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import HeaderFacts, Lease, RunHeader
from psych_runtime_core.records import GENESIS, Entry, Head
from psych_runtime_core.records.facts import TerminalState


class HeaderAction(StrEnum):
    """What an append means for its Run.

    `KEEP`: the log grows. `WAKE`, from outside: somebody must look now. `REST`, by the lease holder: give
    the lease back and look again at `ready_at`. `SETTLE`, by the lease holder: the end.
    """

    KEEP = "keep"
    WAKE = "wake"
    REST = "rest"
    SETTLE = "settle"


@dataclass(frozen=True, slots=True)
class HeaderChange:
    """How an append changes the header.

    `ready_at` goes with `REST` (past: at once; None: when woken), `terminal` with `SETTLE`. `facts=None`
    leaves the facts. `progress`: an effect of this Attempt ends in this commit, so `crashes` becomes 0.
    """

    action: HeaderAction = HeaderAction.KEEP
    ready_at: datetime | None = None
    terminal: TerminalState | None = None
    facts: HeaderFacts | None = None
    progress: bool = False


UNCHANGED = HeaderChange()


@dataclass(frozen=True, slots=True)
class Admit:
    """The write that begins a Run: its header, and its log from seq 1."""

    header: RunHeader
    entries: tuple[Entry, ...]

    @property
    def run_id(self) -> RunId:
        return self.header.run_id

    @property
    def after(self) -> Head:
        return GENESIS

    @property
    def head(self) -> Head:
        """The head it leaves."""
        return self.entries[-1].head if self.entries else GENESIS


@dataclass(frozen=True, slots=True)
class Append:
    """The write that extends a log behind `after`, under a lease or from outside."""

    run_id: RunId
    after: Head
    entries: tuple[Entry, ...]
    change: HeaderChange = UNCHANGED
    lease: Lease | None = None

    @property
    def head(self) -> Head:
        """The head it leaves."""
        return self.entries[-1].head if self.entries else self.after


Write = Admit | Append

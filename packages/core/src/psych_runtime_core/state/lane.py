"""A line of work: its conversation's turn, its budgets and its guards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from psych_runtime_core.ids import VersionHash
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.facts import ToolFailure

# Of a guard's tallies the newest this many are kept, so a lane's size does not grow with its tools.
TALLIES_KEPT = 64
# In `LaneState.tried`, of a model that its provider no longer has.
WITHDRAWN = datetime.max.replace(tzinfo=UTC)
V = TypeVar("V")


class LanePhase(StrEnum):
    """Where a lane stands in its turn."""

    READY = "ready"
    ASKING = "asking"
    CALLING = "calling"
    ACTING = "acting"
    ANSWERED = "answered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LaneAnswer:
    """An answer without calls: the record it stands in, and its text."""

    seq: int
    text: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Streak:
    """Failures of a tool in a row, and the turn that raised it last."""

    count: int
    turn: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often an equal call got an equal answer."""

    count: int
    answer_digest: str


@dataclass(frozen=True)
class LaneState:
    """An open lane.

    `tried` says from which moment on a model may be called again this turn; `rounds` counts the times the
    ring of models was begun anew, `failures` the failed tries of this turn; `held` counts the unfinished
    calls whose Wait is open; `calls_before` are the calls begun in earlier turns, `refused` the ordinals of
    this turn's refused ones; `announced` counts the calls of this turn, `repairs` the answers sent back.
    """

    lane: str
    opened_seq: int
    phase: LanePhase = LanePhase.READY
    version_hash: VersionHash = VersionHash("")
    turn: int = 0
    try_number: int = 0
    rounds: int = 0
    failures: int = 0
    call_epoch: int = 0
    call_seq: int = 0
    model: str | None = None
    retry_at: datetime | None = None
    failure: ToolFailure | None = None
    tried: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    finish_reason: FinishReason | None = None
    answer: LaneAnswer | None = None
    calls_started: int = 0
    calls_before: int = 0
    refused: tuple[int, ...] = ()
    announced: int = 0
    unfinished: int = 0
    held: int = 0
    streaks: Mapping[str, Streak] = field(default_factory=dict[str, Streak])
    repeats: Mapping[str, Repeat] = field(default_factory=dict[str, Repeat])
    streak_peak: int = 0
    repeat_peak: int = 0
    cut_turns: int = 0
    retries_used: int = 0
    repairs: int = 0

    @property
    def waits(self) -> bool:
        """Whether each unfinished call of it waits, so that nothing can be done here."""
        return 0 < self.unfinished == self.held


def newest(tallies: Mapping[str, V], key: str, value: V | None) -> Mapping[str, V]:
    """`tallies` with `value` at `key`, newest last, or without it for None; at most `TALLIES_KEPT`."""
    rest = {name: tally for name, tally in tallies.items() if name != key}
    if value is not None:
        rest[key] = value
    return dict(list(rest.items())[-TALLIES_KEPT:])

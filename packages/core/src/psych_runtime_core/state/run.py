"""The state of one Run."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from psych_runtime_core.ids import RunId, ToolCallId, VersionHash, WaitId, WorkerId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records.facts import TerminalState, ToolFailure
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.handles import Handle
from psych_runtime_core.state.lane import LaneState
from psych_runtime_core.state.meter import Meter
from psych_runtime_core.state.queues import QueueEntry
from psych_runtime_core.state.undo import Undo
from psych_runtime_core.state.waits import Remembered, Wait

K = TypeVar("K")
V = TypeVar("V")
NO_SCOPE = Scope(tenant="-")


class RunPhase(StrEnum):
    """Where a Run stands between its first record and its last."""

    NEW = "new"
    QUEUED = "queued"
    OPEN = "open"
    STOPPING = "stopping"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Abort:
    """The first request to stop."""

    seq: int
    at: datetime
    reason: str
    requested_by: str | None


@dataclass(frozen=True, slots=True)
class Settlement:
    """How the Run ended."""

    state: TerminalState
    output: Mapping[str, Json] | None
    failure: ToolFailure | None
    answer_seq: int | None
    at: datetime


class RunStateView:  # noqa: PLW1641 - it changes, so it has no hash
    """What a log folds to: open things and indexes, never history. Its parts are frozen values.

    It has one holder, and `apply` and `stage` alone change it.
    """

    def __init__(self, run_id: RunId) -> None:
        self.run_id = run_id
        self.tenant = ""
        self.scope = NO_SCOPE
        self.version_hash = VersionHash("")
        self.input: Mapping[str, Json] = {}
        self.head_seq = 0
        self.head_at: datetime | None = None
        self.erased = False
        self.digest_salt = b""
        self.deadline_at: datetime | None = None
        self.not_before: datetime | None = None
        self.root_run_id = run_id
        self.idempotency_key: str | None = None
        self.attempt_count = 0
        self.epoch = 0
        self.worker_id: WorkerId | None = None
        self.abort: Abort | None = None
        self.expired: WaitId | None = None
        self.gave_up = False
        self.settled: Settlement | None = None
        self.lanes: dict[str, LaneState] = {}
        self.calls: dict[ToolCallId, CallState] = {}
        self.waits: dict[WaitId, Wait] = {}
        self.queue: dict[str, QueueEntry] = {}
        self.entry_ids: dict[str, int] = {}
        self.remembered: dict[tuple[str, str | None], Remembered] = {}
        self.prompts: dict[str, int] = {}
        self.toolsets: dict[str, int] = {}
        self.handles: dict[str, Handle] = {}
        self.blobs = False
        self.meter = Meter()
        self.parked_seconds = 0.0
        self.parked_since: datetime | None = None
        self.undo = Undo()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunStateView) and self.dump() == other.dump()

    def dump(self) -> dict[str, Any]:
        """Every value of the state by name, its tables copied; equal states have equal dumps."""
        values = {name: value for name, value in vars(self).items() if name != "undo"}
        return {name: copy(value) if value.__class__ is dict else value for name, value in values.items()}

    def set(self, **values: object) -> None:
        """Change single values, by name."""
        for name, value in values.items():
            self.undo.put(vars(self), name, value)

    def put(self, table: dict[K, V], key: K, value: V) -> None:
        """Change one of the tables."""
        self.undo.put(table, key, value)

    def drop(self, table: dict[K, Any], key: K) -> None:
        """Take a key out of one of the tables."""
        self.undo.drop(table, key)

    @property
    def phase(self) -> RunPhase:
        if self.settled is not None:
            return RunPhase.SETTLED
        if self.head_seq == 0:
            return RunPhase.NEW
        if self.abort is not None:
            return RunPhase.STOPPING
        return RunPhase.OPEN if self.attempt_count else RunPhase.QUEUED

    @property
    def aborted(self) -> bool:
        return self.abort is not None

    @property
    def parked(self) -> bool:
        """Whether every open lane waits."""
        return bool(self.lanes) and all(lane.waits for lane in self.lanes.values())

    @property
    def effective_deadline_at(self) -> datetime | None:
        """The deadline, moved by the time in which every lane waited; None while that lasts."""
        if self.deadline_at is None or self.parked_since is not None:
            return None
        return self.deadline_at + timedelta(seconds=self.parked_seconds)

    @property
    def open_waits(self) -> tuple[Wait, ...]:
        """The Waits without an answer, oldest first."""
        waiting = (wait for wait in self.waits.values() if wait.answer is None)
        return tuple(sorted(waiting, key=lambda wait: wait.opened_seq))

    @property
    def open_lanes(self) -> tuple[LaneState, ...]:
        """The open lanes, in the order they were opened."""
        return tuple(sorted(self.lanes.values(), key=lambda lane: lane.opened_seq))

    @property
    def pending(self) -> tuple[QueueEntry, ...]:
        """The messages no turn has read, in the order they came."""
        return tuple(sorted(self.queue.values(), key=lambda entry: entry.seq))

    def calls_of(self, lane: str) -> tuple[CallState, ...]:
        """The unfinished calls of a lane, in call order."""
        return tuple(
            sorted((c for c in self.calls.values() if c.lane == lane), key=lambda call: call.ordinal)
        )

    @property
    def has_dangling_tool_calls(self) -> bool:
        """Whether a call was begun by an Attempt before this one, and its end not seen."""
        return any(call.phase == "started" and call.epoch < self.epoch for call in self.calls.values())

    @property
    def terminal_state(self) -> TerminalState | None:
        return self.settled.state if self.settled else None

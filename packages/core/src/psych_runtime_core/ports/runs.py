"""A Run as its store knows it: one header, which says who it is, where its log ends and who holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from psych_runtime_core.ids import Identifier, RunId, VersionHash, WorkerId, checked_identifier
from psych_runtime_core.records import Head
from psych_runtime_core.records.base import Instant
from psych_runtime_core.records.facts import SuspendReason, TerminalState
from psych_runtime_core.scope import Scope

NOW = datetime.min.replace(tzinfo=UTC)
"""An instant before all others: ready at once."""

# Every reader of JSON keeps it, and a database has room above it for all claims to come.
MAX_COUNT = 2**53 - 1
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Waits = tuple[tuple[SuspendReason, Count], ...]


class Lifecycle(StrEnum):
    """A Run's life in one word, for people."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPING = "stopping"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


SETTLED_LIFECYCLE: Mapping[TerminalState, Lifecycle] = {
    TerminalState.COMPLETED: Lifecycle.DONE,
    TerminalState.FAILED: Lifecycle.FAILED,
    TerminalState.ABORTED: Lifecycle.STOPPED,
    TerminalState.ABANDONED: Lifecycle.STOPPED,
    TerminalState.FORCE_SETTLED: Lifecycle.STOPPED,
}


class RunState(StrEnum):
    """What a Run is. `ready_at` alone says when somebody must look at it."""

    RUNNABLE = "runnable"
    RUNNING = "running"
    SUSPENDED = "suspended"
    SETTLED = "settled"


OPEN_STATES = (RunState.RUNNABLE, RunState.RUNNING, RunState.SUSPENDED)


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim on a Run that ends at `expires_at`, by the store's clock. The epoch is its fence."""

    run_id: RunId
    worker_id: WorkerId
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class HeaderFacts:
    """What the log says of a Run, whole, as its last writer folded it.

    `waits` are the open Waits, each with the seq of its `suspended`; `pending` counts queue entries not
    yet used; `parked`: every lane waits; `stopping`: an abort is recorded; `blobs`: a record points at one.
    """

    version_hash: VersionHash
    deadline_at: datetime | None = None
    parked: bool = False
    waits: Waits = ()
    pending: int = 0
    stopping: bool = False
    blobs: bool = False
    attempt_count: int = 0


_CheckedRunId = Annotated[RunId, AfterValidator(checked_identifier)]


def _encodable(text: str) -> str:
    """Raises `ValueError` for a lone surrogate, which no database stores."""
    text.encode()
    return text


class RunHeader(BaseModel):
    """A Run as its store knows it. `head` is always the last entry of its log.

    `request` is the digest by which a repeated admission is judged; `epoch` counts the claims so far;
    `lease` is present also when it has expired; `crashes` counts expired leases that were taken over
    since an effect last ended. `parent_run_id`, `root_run_id` and `delegation_depth` place the Run in its
    tree, `continues_run_id` in its conversation. `erased`: what it said about a person is gone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    run_id: _CheckedRunId
    scope: Scope
    name: Annotated[str, AfterValidator(_encodable)]
    request: Annotated[bytes, Field(min_length=32, max_length=32)]
    idempotency_key: Identifier | None = None
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    parent_run_id: _CheckedRunId | None = None
    root_run_id: _CheckedRunId
    delegation_depth: Count = 0
    continues_run_id: _CheckedRunId | None = None
    created_at: Instant
    settled_at: Instant | None = None
    terminal: TerminalState | None = None
    head: Head
    ready_at: Instant | None = None
    epoch: Count = 0
    lease: Lease | None = None
    crashes: Count = 0
    version_hash: VersionHash
    deadline_at: Instant | None = None
    parked: bool = False
    waits: Waits = ()
    pending: Count = 0
    stopping: bool = False
    blobs: bool = False
    attempt_count: Count = 0
    erased: bool = False

    @property
    def state(self) -> RunState:
        if self.terminal is not None:
            return RunState.SETTLED
        if self.lease is not None:
            return RunState.RUNNING
        return RunState.SUSPENDED if self.parked else RunState.RUNNABLE

    @property
    def facts(self) -> HeaderFacts:
        """The facts as they stand: what a writer that does not fold carries on."""
        return HeaderFacts(
            version_hash=self.version_hash,
            deadline_at=self.deadline_at,
            parked=self.parked,
            waits=self.waits,
            pending=self.pending,
            stopping=self.stopping,
            blobs=self.blobs,
            attempt_count=self.attempt_count,
        )

    @property
    def lifecycle(self) -> Lifecycle:
        """The Run's life, by what its header says."""
        if self.terminal is not None:
            return SETTLED_LIFECYCLE[self.terminal]
        if self.stopping:
            return Lifecycle.STOPPING
        if self.parked:
            return Lifecycle.WAITING
        return Lifecycle.RUNNING if self.attempt_count else Lifecycle.QUEUED

"""A Run's beginning, its Attempts, its abort and its end."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from psych_runtime_core.content import Content
from psych_runtime_core.ids import Identifier, RunId, VersionHash, WorkerId
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, RecordObject
from psych_runtime_core.records.base import Bytes, Instant, Ordinal, RecordModel, at_most
from psych_runtime_core.records.facts import TerminalState, ToolFailure
from psych_runtime_core.scope import Scope

NO_SALT = bytes(16)
FAILED_STATES = frozenset({TerminalState.FAILED, TerminalState.ABANDONED, TerminalState.FORCE_SETTLED})


class RunAdmitted(RecordModel):
    """The first record: what runs, for whom, with what input, until when."""

    type: Literal["run_admitted"] = "run_admitted"
    version_hash: VersionHash
    spec_kind: Literal["agent"] = "agent"
    scope: Scope
    input: Annotated[RecordObject, Content({})] = EMPTY_OBJECT
    idempotency_key: Annotated[Identifier | None, Content()] = None
    deadline_at: Instant
    not_before: Instant | None = None
    digest_salt: Annotated[Bytes, Field(min_length=16, max_length=16), Content(NO_SALT)]
    root_run_id: RunId


class AttemptStarted(RecordModel):
    """A Worker holding a fresh lease begins to drive the Run. `library` is the release that writes."""

    type: Literal["attempt_started"] = "attempt_started"
    worker_id: WorkerId
    attempt_number: Ordinal
    reclaimed_expired_lease: bool = False
    library: Annotated[str, Field(max_length=32)]


class AbortRequested(RecordModel):
    """Somebody wants the Run to stop. Nothing begins after it."""

    type: Literal["abort_requested"] = "abort_requested"
    reason: Annotated[str, at_most(1_024), Content("")] = ""
    requested_by: Identifier | None = None


class RunSettled(RecordModel):
    """The last record. `answer_seq` is the record that holds the answer."""

    type: Literal["run_settled"] = "run_settled"
    state: TerminalState
    output: Annotated[RecordObject | None, Content()] = None
    failure: ToolFailure | None = None
    answer_seq: int | None = None

    @model_validator(mode="after")
    def _failure_fits_state(self) -> RunSettled:
        if self.state in FAILED_STATES and self.failure is None:
            raise ValueError(f"a Run that settles {self.state} says why")
        if self.state is TerminalState.COMPLETED and self.failure is not None:
            raise ValueError("a completed Run has no failure")
        return self

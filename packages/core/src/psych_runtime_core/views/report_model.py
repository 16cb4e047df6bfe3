"""What a report is made of. Times are aware UTC, durations seconds; None is unknown, or not yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psych_runtime_core.ids import RunId, ToolCallId, VersionHash, WaitId, WorkerId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import FinishReason, ToolClass
from psych_runtime_core.records.facts import (
    ModelTimings,
    QueueKind,
    ResultAttachment,
    SuspendReason,
    TerminalState,
    ToolFailure,
    ToolOutcome,
)
from psych_runtime_core.scope import Scope
from psych_runtime_core.usage import Cost, Usage


@dataclass(frozen=True, slots=True)
class PromptReport:
    """A system prompt and the first record it was sent with. `text` is None where the log holds none."""

    prompt_hash: str
    text: str | None
    first_seq: int


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """One pass over the Run by one Worker; `last_at` is its last record, `library` the release it ran."""

    attempt_number: int
    epoch: int
    worker_id: WorkerId
    library: str
    started_at: datetime
    last_at: datetime
    reclaimed_expired_lease: bool


@dataclass(frozen=True, slots=True)
class LaneReport:
    """What a lane did and used. `model_calls` counts those that gave an answer, `tool_calls` what began."""

    lane: str
    turns: int
    usage: Usage | None
    cost: Cost | None
    cost_is_incomplete: bool
    model_calls: int
    tool_calls: int


@dataclass(frozen=True, slots=True)
class ModelCallReport:
    """One request to a model.

    `lost`: the log went on without its end. `dangling`: it is open, and the Attempt that sent it is not the
    newest. `tool_names` are the tools it offered.
    """

    lane: str
    turn: int
    try_number: int
    model: str
    served_model: str | None
    prompt_hash: str | None
    tool_names: tuple[str, ...] | None
    usage: Usage | None
    cost: Cost | None
    timings: ModelTimings | None
    finish_reason: FinishReason | None
    text: str | None
    reasoning: str | None
    tool_call_ids: tuple[ToolCallId, ...]
    started_at: datetime
    finished_at: datetime | None
    failure: ToolFailure | None
    will_retry: bool
    lost: bool
    dangling: bool

    @property
    def usage_reported(self) -> bool:
        return self.usage is not None


@dataclass(frozen=True, slots=True)
class ToolCallReport:
    """A tool call, from announcement to result. What only a start says is None where nothing began.

    `arguments` and `arguments_digest` are of what ran, else of what was announced. `wait_id` is the Wait
    that its decision rests on, `decided_by` who answered that. `result_blob_key` is the last part of the key
    of a blob that holds the result, which is None then. `dangling`: an Attempt before the newest began it,
    and its end was not seen.
    """

    call_id: ToolCallId
    provider_id: str | None
    lane: str
    turn: int
    ordinal: int
    tool: str
    tool_class: ToolClass | None
    arguments: Json
    arguments_digest: str
    decision: Literal["allowed", "approved", "remembered"] | None
    wait_id: WaitId | None
    decided_by: str | None
    outcome: ToolOutcome | None
    result: Json
    failure: ToolFailure | None
    duration_seconds: float | None
    recovered: bool
    result_handle: str | None
    preview: str | None
    result_bytes: int | None
    result_blob_key: str | None
    result_content_type: str | None
    attachments: tuple[ResultAttachment, ...]
    announced_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    run_number: int
    interruptible: bool | None
    safe_to_retry: bool | None
    dangling: bool


@dataclass(frozen=True, slots=True)
class SuspensionReport:
    """Who was asked what, and who answered it how.

    `arguments_digest` is of what was shown, `executed_digest` of what then ran, None when nothing did.
    """

    wait_id: WaitId
    reason: SuspendReason
    lane: str
    call_id: ToolCallId
    tool: str
    arguments_digest: str
    question: str
    suspended_at: datetime
    due_at: datetime
    resumed_at: datetime | None
    cause: Literal["answer", "expired"] | None
    approved: bool | None
    arguments_edited: bool
    executed_digest: str | None
    payload: Mapping[str, Json]
    remember: Literal["tool", "arguments"] | None
    resumed_by: str | None


@dataclass(frozen=True, slots=True)
class QueueEntryReport:
    """A message sent to the Run; `consumed_at` is when a turn read it."""

    entry_id: str
    queue: QueueKind
    payload: Mapping[str, Json]
    sent_by: str | None
    at: datetime
    consumed_at: datetime | None


@dataclass(frozen=True, slots=True)
class AbortReport:
    """A request to stop. The first one counts."""

    seq: int
    at: datetime
    reason: str
    requested_by: str | None


@dataclass(frozen=True, slots=True)
class FailureStreakTrip:
    """A call that was refused because its tool had failed `streak` times in a row."""

    lane: str
    tool: str
    call_id: ToolCallId
    streak: int | None
    threshold: int
    at: datetime


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """Where the time went.

    `model_seconds` and `tool_seconds` are sums of effort and may exceed the wall, since work goes on side by
    side. `busy_seconds` is the time in which any of it went on, outside of parking;
    `unaccounted_seconds` = wall - parked - busy.
    """

    wall_clock_seconds: float
    parked_seconds: float
    model_seconds: float
    tool_seconds: float
    busy_seconds: float
    unaccounted_seconds: float


@dataclass(frozen=True, slots=True)
class TotalsReport:
    """Sums over the Run.

    `usage` sums what was reported: None when nothing was, zero when no model was called; `usage_source` says
    whether the provider reported all of it. `cost` sums the known prices and is None for none or for two
    currencies, of which `costs` has each; `cost_is_incomplete`: a call without a price is missing in it.
    """

    usage: Usage | None
    usage_source: Literal["provider", "partial", "unknown", "none"]
    unreported_usage_calls: int
    cost: Cost | None
    costs: tuple[Cost, ...]
    unpriced_model_calls: int
    cost_is_incomplete: bool
    provider_reported_costs: int
    model_calls: int
    failed_model_calls: int
    lost_model_calls: int
    tool_calls: int
    refused_calls: int
    latency: LatencyReport


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything that a log shows of a Run: for whom, what was sent, done, allowed, used and paid.

    `system_prompt` is the one sent last. `deadline_at` is that of the admission, `parked_seconds` what
    it was moved by so far. `answer_seq` is the record that holds the answer.
    """

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    spec_name: str
    spec_kind: str
    system_prompt: str | None
    prompts: tuple[PromptReport, ...]
    attempts: tuple[AttemptReport, ...]
    lanes: tuple[LaneReport, ...]
    model_calls: tuple[ModelCallReport, ...]
    tool_calls: tuple[ToolCallReport, ...]
    suspensions: tuple[SuspensionReport, ...]
    queue: tuple[QueueEntryReport, ...]
    failure_streak_trips: tuple[FailureStreakTrip, ...]
    aborts: tuple[AbortReport, ...]
    terminal_state: TerminalState | None
    output: Mapping[str, object] | None
    failure: ToolFailure | None
    answer_seq: int | None
    admitted_at: datetime | None
    started_at: datetime | None
    settled_at: datetime | None
    deadline_at: datetime | None
    parked_seconds: float
    totals: TotalsReport

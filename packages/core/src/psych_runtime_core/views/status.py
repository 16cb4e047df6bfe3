"""Where a Run stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from psych_runtime_core.ids import RunId, ToolCallId, VersionHash, WaitId, WorkerId
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.ports.runs import Lifecycle
from psych_runtime_core.records.facts import TerminalState, ToolFailure
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.state.waits import Wait
from psych_runtime_core.usage import Cost, Usage
from psych_runtime_core.views.lifecycle import lifecycle_of
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.totals import cost_is_incomplete, usage_of


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that waits for a person: what it would run, and until when it may be answered.

    `arguments` is None once they are erased; an answer is to the call of `arguments_digest`.
    """

    wait_id: WaitId
    call_id: ToolCallId
    lane: str
    tool: str
    tool_class: ToolClass
    arguments: Mapping[str, object] | None
    arguments_digest: str
    question: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Where a Run stands, what it waits for, what it used and cost so far.

    `usage` and `cost` are None where unknown; `cost` sums the calls whose price is known, and
    `cost_is_incomplete` says that one is missing. `deadline_at` is moved by the seconds in which everything
    waited, and None while that lasts. `current_attempt` is the epoch of the newest Attempt.
    """

    run_id: RunId
    scope: Scope
    version_hash: VersionHash
    lifecycle: Lifecycle
    terminal_state: TerminalState | None
    output: Mapping[str, object] | None
    failure: ToolFailure | None
    pending_approvals: tuple[PendingApproval, ...]
    turn: int
    tool_calls: int
    model_calls: int
    usage: Usage | None
    cost: Cost | None
    cost_is_incomplete: bool
    head_seq: int
    attempt_count: int
    current_attempt: int | None
    worker_id: WorkerId | None
    deadline_at: datetime | None
    parked: bool
    parked_seconds: float
    pending_messages: int
    admitted_at: datetime | None
    started_at: datetime | None
    updated_at: datetime | None
    settled_at: datetime | None
    has_dangling_tool_calls: bool

    @property
    def pending_approval(self) -> PendingApproval | None:
        """The oldest of them."""
        return self.pending_approvals[0] if self.pending_approvals else None

    @property
    def failure_kind(self) -> str | None:
        return self.failure.kind if self.failure else None

    @property
    def failure_message(self) -> str | None:
        return self.failure.message if self.failure else None


def status_of(view: RunProjection) -> RunStatus:
    """Where the Run stands."""
    state, settled = view.state, view.state.settled
    return RunStatus(
        run_id=state.run_id,
        scope=state.scope,
        version_hash=state.version_hash,
        lifecycle=lifecycle_of(state),
        terminal_state=state.terminal_state,
        output=settled.output if settled else None,
        failure=settled.failure if settled else None,
        pending_approvals=_pending_approvals(state),
        turn=view.turns[-1].started.turn if view.turns else 0,
        tool_calls=state.meter.tool_calls,
        model_calls=state.meter.model_calls,
        usage=usage_of(state.meter),
        cost=state.meter.cost,
        cost_is_incomplete=cost_is_incomplete(state.meter),
        head_seq=state.head_seq,
        attempt_count=state.attempt_count,
        current_attempt=state.epoch if state.attempt_count else None,
        worker_id=state.worker_id,
        deadline_at=state.effective_deadline_at,
        parked=state.parked,
        parked_seconds=state.parked_seconds,
        pending_messages=len(state.queue),
        admitted_at=view.admitted.at if view.admitted else None,
        started_at=view.attempts[0].started.at if view.attempts else None,
        updated_at=state.head_at,
        settled_at=settled.at if settled else None,
        has_dangling_tool_calls=state.has_dangling_tool_calls,
    )


def _pending_approvals(state: RunStateView) -> tuple[PendingApproval, ...]:
    return () if state.aborted else tuple(_pending_approval(wait) for wait in state.open_waits)


def _pending_approval(wait: Wait) -> PendingApproval:
    return PendingApproval(
        wait_id=wait.wait_id,
        call_id=wait.call_id,
        lane=wait.lane,
        tool=wait.tool,
        tool_class=wait.tool_class,
        arguments=wait.arguments,
        arguments_digest=wait.arguments_digest,
        question=wait.question,
        expires_at=wait.due_at,
    )

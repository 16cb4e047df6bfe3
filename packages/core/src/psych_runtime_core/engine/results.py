"""How a call's result is recorded, whoever found it out."""

from __future__ import annotations

from psych_runtime_core.ids import content_digest
from psych_runtime_core.records.facts import ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.run import RunStateView


def ended(call: CallState, outcome: ToolOutcome, failure: ToolFailure | None = None) -> ToolCallFinished:
    """The end of a call that gave no answer: `aborted` or `unknown`."""
    return ToolCallFinished(
        lane=call.lane,
        call_id=call.call_id,
        tool=tool_of(call),
        turn=call.turn,
        outcome=outcome,
        failure=failure,
    )


def refused(state: RunStateView, call: CallState, failure: ToolFailure) -> ToolCallFinished:
    """The refusal of a call of which nothing began."""
    return failed(state, call, failure, ToolOutcome.REFUSED)


def failed(
    state: RunStateView, call: CallState, failure: ToolFailure, outcome: ToolOutcome = ToolOutcome.ERROR
) -> ToolCallFinished:
    """The result of a call that failed."""
    return ended(call, ToolOutcome.UNKNOWN).model_copy(
        update={"outcome": outcome, "failure": failure, "answer_digest": failure_digest(state, failure)}
    )


def failure_digest(state: RunStateView, failure: ToolFailure) -> str:
    """The digest by which two equal failures are known to be equal."""
    return content_digest(state.digest_salt, {"kind": failure.kind, "message": failure.message})


def tool_of(call: CallState) -> str:
    """The tool a call means: the one it began as, else the name the model wrote."""
    return call.tool or call.name

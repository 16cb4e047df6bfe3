"""What becomes of the calls of a turn, each in order."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime_core.arguments import fault_of
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.effects import Append, Effect, RunTool
from psych_runtime_core.engine.guards import guard
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.engine.results import answered, ended, refused
from psych_runtime_core.engine.structured import Fit, judge_call
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records.facts import FailureKind, ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.spec.names import ANSWER_TOOL
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.lane import LaneState
from psych_runtime_core.state.run import RunStateView


def call_effects(plan: Plan, state: RunStateView, lane: LaneState) -> tuple[Effect, ...]:
    """What may be done about each unfinished call of `lane`; a call that waits has nothing."""
    effects = (call_effect(plan, state, lane, call) for call in state.calls_of(lane.lane))
    return tuple(effect for effect in effects if effect is not None)


def call_effect(plan: Plan, state: RunStateView, lane: LaneState, call: CallState) -> Effect | None:
    """The one thing to do about `call`, None while it waits."""
    if call.phase == "started":
        return _started(state, call)
    if call.waits_opened:
        return _waited(state, call)
    failure = guard(plan.limits, lane, call)
    if failure is not None:
        return Append((refused(state, call, failure),))
    schema = plan.spec.output_schema
    if schema is not None and call.name == ANSWER_TOOL:
        return Append((_answer(schema, state, lane, call),))
    return _begin(call)


def _answer(
    schema: Mapping[str, Json], state: RunStateView, lane: LaneState, call: CallState
) -> ToolCallFinished:
    """The call by which the answer is given begins nothing: it is judged here."""
    if call.arguments is None:
        text = wording.malformed_arguments(fault_of(call.arguments_raw), call.arguments_raw)
        return refused(state, call, ToolFailure(kind=FailureKind.MALFORMED_ARGUMENTS, message=text))
    if lane.announced > 1:
        failure = ToolFailure(kind=FailureKind.ANSWER_NOT_ALONE, message=wording.answer_not_alone())
        return refused(state, call, failure)
    judged = judge_call(schema, call.arguments)
    if isinstance(judged, Fit):
        return answered(state, call, judged.value)
    text = wording.answer_refused(judged.faults)
    return refused(state, call, ToolFailure(kind=FailureKind.SCHEMA_VIOLATION, message=text))


def _started(state: RunStateView, call: CallState) -> Effect:
    if call.epoch == state.epoch:
        return RunTool(call.lane, call.call_id, "run")
    if call.safe_to_retry:
        return _begin(call)
    if call.probe:
        return RunTool(call.lane, call.call_id, "probe")
    return Append((ended(call, ToolOutcome.UNKNOWN),))


def _waited(state: RunStateView, call: CallState) -> Effect | None:
    answer = state.waits[call.wait_id].answer if call.wait_id else None
    if answer is None or answer.cause == "expired":
        return None
    if answer.approved:
        return _begin(call)
    reason = answer.payload.get("reason")
    text = wording.denied(reason if isinstance(reason, str) else "")
    return Append((refused(state, call, ToolFailure(kind=FailureKind.DENIED, message=text)),))


def _begin(call: CallState) -> RunTool:
    return RunTool(call.lane, call.call_id, "begin")

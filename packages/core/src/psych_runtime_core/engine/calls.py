"""What becomes of the calls of a turn, each in order."""

from __future__ import annotations

from psych_runtime_core.engine import wording
from psych_runtime_core.engine.effects import Append, Effect, RunTool
from psych_runtime_core.engine.guards import guard
from psych_runtime_core.engine.results import ended, refused
from psych_runtime_core.records.facts import FailureKind, ToolFailure, ToolOutcome
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.lane import LaneState
from psych_runtime_core.state.run import RunStateView


def call_effects(limits: Limits, state: RunStateView, lane: LaneState) -> tuple[Effect, ...]:
    """What may be done about each unfinished call of `lane`; a call that waits has nothing."""
    effects = (call_effect(limits, state, lane, call) for call in state.calls_of(lane.lane))
    return tuple(effect for effect in effects if effect is not None)


def call_effect(limits: Limits, state: RunStateView, lane: LaneState, call: CallState) -> Effect | None:
    """The one thing to do about `call`, None while it waits."""
    if call.phase == "started":
        return _started(state, call)
    if not call.waits_opened:
        failure = guard(limits, lane, call)
        return Append((refused(state, call, failure),)) if failure else _begin(call)
    return _waited(state, call)


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

"""What a model asks for too often, judged from the log alone and before anybody is asked."""

from __future__ import annotations

from psych_runtime_core.engine import wording
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.facts import FailureKind, ToolFailure
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.lane import LaneState


def guard(limits: Limits, lane: LaneState, call: CallState) -> ToolFailure | None:
    """Why `call` is refused before it begins, None when nothing speaks against it."""
    return _cut_off(lane) or _budget(limits, lane, call) or _habit(limits, lane, call)


def _cut_off(lane: LaneState) -> ToolFailure | None:
    if lane.finish_reason is FinishReason.LENGTH:
        return _refusal(FailureKind.TRUNCATED_CALL, wording.truncated_call())
    if lane.finish_reason is FinishReason.CONTENT_FILTER:
        return _refusal(FailureKind.CONTENT_FILTER, wording.filtered_call())
    return None


def _budget(limits: Limits, lane: LaneState, call: CallState) -> ToolFailure | None:
    if call.ordinal >= limits.max_tool_calls_per_turn:
        return _refusal(FailureKind.TOO_MANY_CALLS, wording.too_many_calls(limits.max_tool_calls_per_turn))
    if begun_before(lane, call) >= limits.max_steps:
        return _refusal(FailureKind.BUDGET_EXHAUSTED, wording.budget_exhausted())
    return None


def begun_before(lane: LaneState, call: CallState) -> int:
    """How many calls of the lane count as begun before `call`, in whatever order they really begin.

    Earlier calls of the turn count unless they were refused; later ones never do. So a call that this let
    pass once is let pass for good.
    """
    refused = sum(ordinal < call.ordinal for ordinal in lane.refused)
    return lane.calls_before + call.ordinal - refused


def _habit(limits: Limits, lane: LaneState, call: CallState) -> ToolFailure | None:
    streak = lane.streaks.get(call.name)
    if streak and streak.count >= limits.failure_streak_threshold and streak.turn == lane.turn - 1:
        return _refusal(FailureKind.FAILURE_STREAK, wording.failure_streak(call.name, streak.count))
    repeat = lane.repeats.get(call.arguments_digest)
    if repeat and repeat.count + 1 >= limits.repeat_call_threshold:
        return _refusal(FailureKind.REPEATED_CALL, wording.repeated_call(repeat.count))
    return None


def _refusal(kind: FailureKind, message: str) -> ToolFailure:
    return ToolFailure(kind=kind, message=message)

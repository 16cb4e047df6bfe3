"""What an agent lane does next: one function a phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from psych_runtime_core.engine import wording
from psych_runtime_core.engine.calls import call_effects
from psych_runtime_core.engine.effects import Append, CallModel, Done, Failed, LaneDecision
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.engine.structured import Fit, judge_text
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.facts import FailureKind, QueueKind, ToolFailure
from psych_runtime_core.records.queue import QueueConsumed
from psych_runtime_core.records.turn import ModelCallStarted, TurnStarted
from psych_runtime_core.state.lane import LaneAnswer, LanePhase, LaneState
from psych_runtime_core.state.queues import QueueEntry
from psych_runtime_core.state.run import RunStateView

AT_A_TURN = frozenset({QueueKind.STEER})
AT_THE_END = frozenset(QueueKind)


def lane_effects(plan: Plan, state: RunStateView, lane: LaneState, now: datetime) -> LaneDecision:
    """What may be in flight in `lane` now, or its end."""
    return _PHASES[lane.phase](plan, state, lane, now)


def _calling(plan: Plan, state: RunStateView, lane: LaneState, now: datetime) -> LaneDecision:
    del plan, now
    model = lane.model or ""
    if lane.call_epoch == state.epoch:
        return (CallModel(lane.lane, lane.turn, lane.try_number, model),)
    return _ask(lane, lane.try_number + 1, model)


def _failed(plan: Plan, state: RunStateView, lane: LaneState, now: datetime) -> LaneDecision:
    del plan, state, now
    return Failed(lane.failure or _failure(FailureKind.PERMANENT, ""))


def _asking(plan: Plan, state: RunStateView, lane: LaneState, now: datetime) -> LaneDecision:
    del state
    if lane.retry_at is not None and now < lane.retry_at:
        return ()
    return _ask(lane, lane.try_number + 1, lane.model or plan.ring[0])


def _acting(plan: Plan, state: RunStateView, lane: LaneState, now: datetime) -> LaneDecision:
    del now
    return call_effects(plan, state, lane)


def _ready(plan: Plan, state: RunStateView, lane: LaneState, now: datetime) -> LaneDecision:
    del now
    limits = plan.limits
    if lane.streak_peak >= limits.failure_streak_hard_stop:
        return Failed(_failure(FailureKind.FAILURE_STREAK, wording.lane_failure_streak(lane.streak_peak)))
    if lane.repeat_peak >= limits.repeat_call_hard_stop:
        return Failed(_failure(FailureKind.REPEATED_CALL, wording.lane_repeated_call(lane.repeat_peak)))
    if lane.cut_turns >= 2:
        return _truncated()
    if lane.finish_reason is FinishReason.CONTENT_FILTER:
        return _filtered()
    if lane.repairs > limits.output_retries:
        return Failed(_failure(FailureKind.SCHEMA_VIOLATION, wording.lane_schema_violation()))
    return _next_turn(plan, lane, state.pending, AT_A_TURN)


def _answered(plan: Plan, state: RunStateView, lane: LaneState, now: datetime) -> LaneDecision:
    del now
    if lane.finish_reason is FinishReason.LENGTH:
        return _truncated()
    if lane.finish_reason is FinishReason.CONTENT_FILTER:
        return _filtered()
    if lane.finish_reason is FinishReason.PAUSE:
        return _next_turn(plan, lane, state.pending, AT_A_TURN)
    if state.queue:
        return _next_turn(plan, lane, state.pending, AT_THE_END)
    return _ended(plan, lane)


def _ended(plan: Plan, lane: LaneState) -> LaneDecision:
    answer, schema = lane.answer, plan.spec.output_schema
    assert answer is not None, "an answered lane has its answer"
    if schema is not None:
        return _structured(plan, lane, answer, schema)
    output: Mapping[str, Json] = {"text": answer.text, **({"refused": True} if answer.refused else {})}
    return Done(output, answer.seq)


def _structured(plan: Plan, lane: LaneState, answer: LaneAnswer, schema: Mapping[str, Json]) -> LaneDecision:
    """The end of a lane whose answer must fit; one that does not is sent back."""
    if answer.refused:
        return Failed(_failure(FailureKind.REFUSAL, wording.lane_refusal()))
    judged = judge_text(schema, answer.text)
    if isinstance(judged, Fit):
        return Done({"text": answer.text, "value": judged.value}, answer.seq)
    if lane.repairs >= plan.limits.output_retries:
        text = wording.lane_schema_violation(judged.faults)
        return Failed(_failure(FailureKind.SCHEMA_VIOLATION, text))
    return _next_turn(plan, lane, (), AT_A_TURN, repair=wording.answer_repair(judged.faults))


def _next_turn(
    plan: Plan,
    lane: LaneState,
    pending: Iterable[QueueEntry],
    read: frozenset[QueueKind],
    repair: str | None = None,
) -> LaneDecision:
    if lane.turn >= plan.limits.max_turns or lane.calls_started >= plan.limits.max_steps:
        return Failed(_failure(FailureKind.BUDGET_EXHAUSTED, wording.lane_budget_exhausted()))
    turn = lane.turn + 1
    return (
        Append(
            (
                TurnStarted(lane=lane.lane, turn=turn, repair=repair),
                *(
                    QueueConsumed(lane=lane.lane, entry_id=entry.entry_id, turn=turn)
                    for entry in pending
                    if entry.queue in read
                ),
                ModelCallStarted(lane=lane.lane, turn=turn, try_number=1, model=plan.ring[0]),
            )
        ),
    )


def _ask(lane: LaneState, try_number: int, model: str) -> tuple[Append]:
    started = ModelCallStarted(lane=lane.lane, turn=lane.turn, try_number=try_number, model=model)
    return (Append((started,)),)


def _truncated() -> Failed:
    return Failed(_failure(FailureKind.OUTPUT_TRUNCATED, wording.output_truncated()))


def _filtered() -> Failed:
    return Failed(_failure(FailureKind.CONTENT_FILTER, wording.output_filtered()))


def _failure(kind: FailureKind, message: str) -> ToolFailure:
    return ToolFailure(kind=kind, message=message)


_PHASES: Mapping[LanePhase, Callable[[Plan, RunStateView, LaneState, datetime], LaneDecision]] = {
    LanePhase.CALLING: _calling,
    LanePhase.FAILED: _failed,
    LanePhase.ASKING: _asking,
    LanePhase.ACTING: _acting,
    LanePhase.READY: _ready,
    LanePhase.ANSWERED: _answered,
}

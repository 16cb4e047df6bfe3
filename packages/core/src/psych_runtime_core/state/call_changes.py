"""What records change in calls, and in the guards of their lane."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime_core.arguments import read_arguments
from psych_runtime_core.jsonvalue import JsonObject, json_text
from psych_runtime_core.records.facts import FailureKind, ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.spec.names import ANSWER_TOOL
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.changed import changed
from psych_runtime_core.state.handles import handles_of
from psych_runtime_core.state.lane import LaneAnswer, LanePhase, LaneState, Repeat, Streak, newest
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.state.wait_changes import close_wait


def announce(state: RunStateView, record: ModelCallFinished) -> None:
    """Open a call for each that the answer holds; erased content leaves its arguments empty."""
    said = {call.id: call for call in record.tool_calls}
    for ordinal, call in enumerate(record.calls):
        written = said.get(call.call_id)
        opened = CallState(
            call_id=call.call_id,
            lane=record.lane,
            turn=record.turn,
            ordinal=ordinal,
            name=call.name,
            arguments=_object(written.arguments) if written else None,
            arguments_raw=written.arguments if written else "",
            arguments_digest=call.arguments_digest,
            provider_id=written.provider_id if written else None,
        )
        state.put(state.calls, call.call_id, opened)


def _object(arguments: str) -> JsonObject | None:
    try:
        return read_arguments(arguments)
    except ValueError:
        return None


def tool_call_started(state: RunStateView, record: ToolCallStarted) -> None:
    call = state.calls[record.call_id]
    arguments = record.arguments if record.arguments is not None else call.arguments
    if record.run_number == 1:
        lane = state.lanes[record.lane]
        state.put(state.lanes, record.lane, changed(lane, calls_started=lane.calls_started + 1))
        state.set(meter=changed(state.meter, tool_calls=state.meter.tool_calls + 1))
    close_wait(state, call)
    started = changed(
        call,
        phase="started",
        tool=record.tool,
        arguments=arguments,
        arguments_digest=record.arguments_digest,
        epoch=record.epoch,
        run_number=record.run_number,
        started_at=record.at,
        safe_to_retry=record.safe_to_retry,
        probe=record.probe,
        wait_id=None,
    )
    state.put(state.calls, record.call_id, started)


def tool_call_finished(state: RunStateView, record: ToolCallFinished) -> None:
    call = state.calls[record.call_id]
    close_wait(state, call)
    state.drop(state.calls, record.call_id)
    lane = _guarded(state.lanes[record.lane], call, record)
    if record.outcome is ToolOutcome.REFUSED:
        lane = changed(lane, refused=(*lane.refused, call.ordinal))
        state.set(meter=changed(state.meter, refused_calls=state.meter.refused_calls + 1))
    state.put(state.lanes, record.lane, _closed(lane, call, record))
    if _is(record, ToolOutcome.UNKNOWN, FailureKind.FORCE_SETTLED):
        state.set(gave_up=True)
    _take_handles(state, record)


def _take_handles(state: RunStateView, record: ToolCallFinished) -> None:
    for name, handle in handles_of(record):
        state.put(state.handles, name, handle)
        if handle.blob_key is not None and not state.blobs:
            state.set(blobs=True)


def _closed(lane: LaneState, call: CallState, record: ToolCallFinished) -> LaneState:
    """The lane with one call less; the call by which an answer is given ends its turn with it."""
    left = lane.unfinished - 1
    if call.phase == "announced" and record.outcome is ToolOutcome.OK:
        answer = LaneAnswer(record.seq, json_text(record.result))
        return changed(lane, unfinished=left, phase=LanePhase.ANSWERED, answer=answer)
    misfit = call.name == ANSWER_TOOL and _is(record, ToolOutcome.REFUSED, FailureKind.SCHEMA_VIOLATION)
    phase = LanePhase.ACTING if left else LanePhase.READY
    return changed(lane, unfinished=left, phase=phase, repairs=lane.repairs + misfit)


def _guarded(lane: LaneState, call: CallState, record: ToolCallFinished) -> LaneState:
    """The lane after the guards have counted a result."""
    streaks, streak = _streaks(lane, record)
    repeats, repeat = _repeats(lane, call, record)
    return changed(
        lane,
        streaks=streaks,
        streak_peak=max(lane.streak_peak, streak),
        repeats=repeats,
        repeat_peak=max(lane.repeat_peak, repeat),
    )


def _streaks(lane: LaneState, record: ToolCallFinished) -> tuple[Mapping[str, Streak], int]:
    if record.outcome in (ToolOutcome.ERROR, ToolOutcome.UNKNOWN):
        held = lane.streaks.get(record.tool)
        count = held.count + 1 if held else 1
        return newest(lane.streaks, record.tool, Streak(count, record.turn)), count
    if record.outcome is ToolOutcome.OK and record.tool in lane.streaks:
        return newest(lane.streaks, record.tool, None), 0
    return lane.streaks, 0


def _repeats(lane: LaneState, call: CallState, record: ToolCallFinished) -> tuple[Mapping[str, Repeat], int]:
    if record.answer_digest is None:
        return lane.repeats, 0
    held = lane.repeats.get(call.arguments_digest)
    again = _is(record, ToolOutcome.REFUSED, FailureKind.REPEATED_CALL)
    if held is not None and (again or held.answer_digest == record.answer_digest):
        tally = Repeat(held.count + 1, held.answer_digest)
    else:
        tally = Repeat(1, record.answer_digest)
    return newest(lane.repeats, call.arguments_digest, tally), tally.count


def _is(record: ToolCallFinished, outcome: ToolOutcome, kind: FailureKind) -> bool:
    # A tool's own exception may be named like one of our kinds: the outcome tells them apart.
    return record.outcome is outcome and record.failure is not None and record.failure.kind == kind

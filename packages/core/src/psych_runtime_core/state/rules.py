"""What a record must say of the thing it is about, one rule a record type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from psych_runtime_core.errors import CorruptionReason as Reason
from psych_runtime_core.ids import derive_call_id, derive_wait_id
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.queue import QueueConsumed
from psych_runtime_core.records.run import AttemptStarted
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.spec.names import ANSWER_TOOL
from psych_runtime_core.state.calls import CallPhase, CallState
from psych_runtime_core.state.corruption import Breach
from psych_runtime_core.state.lane import LanePhase
from psych_runtime_core.state.run import RunStateView

Checked = Breach | None
POSSIBLE_OUTCOMES: Mapping[CallPhase, frozenset[ToolOutcome]] = {
    "announced": frozenset({ToolOutcome.REFUSED, ToolOutcome.ABORTED}),
    "started": frozenset(ToolOutcome) - {ToolOutcome.REFUSED},
}


def own_rule(state: RunStateView, record: Record) -> Checked:
    """The breach of the record's own rule, if any; its phase is already known to be right."""
    rule = _RULES.get(type(record))
    return rule(state, record) if rule else None


def _number(what: str, found: int, expected: int) -> Checked:
    return None if found == expected else Breach(Reason.WRONG_NUMBER, f"{what} {found}, expected {expected}")


def _attempt_started(state: RunStateView, record: AttemptStarted) -> Checked:
    expected = state.attempt_count + 1
    if record.attempt_number != expected:
        return Breach(Reason.WRONG_ATTEMPT, f"Attempt {record.attempt_number}, expected {expected}")
    return None


def _turn_started(state: RunStateView, record: TurnStarted) -> Checked:
    return _number("turn", record.turn, state.lanes[record.lane].turn + 1)


def _queue_consumed(state: RunStateView, record: QueueConsumed) -> Checked:
    lane = state.lanes[record.lane]
    if lane.try_number:
        return Breach(Reason.WRONG_PHASE, "a message is read before the model is first called")
    if record.entry_id not in state.queue:
        return Breach(Reason.QUEUE_ENTRY_NOT_PENDING, f"entry {record.entry_id} is not pending")
    return _number("turn", record.turn, lane.turn)


def _model_call_started(state: RunStateView, record: ModelCallStarted) -> Checked:
    lane = state.lanes[record.lane]
    if lane.phase is LanePhase.CALLING and record.epoch <= lane.call_epoch:
        return Breach(Reason.WRONG_PHASE, "the model call under way belongs to this Attempt")
    return _number("turn", record.turn, lane.turn) or _number("try", record.try_number, lane.try_number + 1)


def _same_try(state: RunStateView, record: ModelCallFinished | ModelCallFailed) -> Checked:
    lane = state.lanes[record.lane]
    return _number("turn", record.turn, lane.turn) or _number("try", record.try_number, lane.try_number)


def _model_call_finished(state: RunStateView, record: ModelCallFinished) -> Checked:
    for ordinal, call in enumerate(record.calls):
        expected = derive_call_id(state.run_id, record.lane, record.turn, ordinal)
        if call.call_id != expected:
            return Breach(Reason.WRONG_ID, f"call {ordinal} has id {call.call_id}, expected {expected}")
    return _same_try(state, record)


def _open_call(state: RunStateView, record: ToolCallStarted | ToolCallFinished) -> CallState | Breach:
    call = state.calls.get(record.call_id)
    if call is None or call.lane != record.lane:
        return Breach(Reason.CALL_NOT_OPEN, f"call {record.call_id} is not open in lane {record.lane!r}")
    return call


def _tool_call_started(state: RunStateView, record: ToolCallStarted) -> Checked:
    call = _open_call(state, record)
    if isinstance(call, Breach):
        return call
    if call.phase == "started" and not (record.epoch > call.epoch and (call.safe_to_retry or call.probe)):
        return Breach(Reason.CALL_STARTED_TWICE, f"call {call.call_id} was begun in epoch {call.epoch}")
    return (
        _number("turn", record.turn, call.turn)
        or _number("run", record.run_number, call.run_number + 1)
        or _admitted(call, record)
    )


def _admitted(call: CallState, record: ToolCallStarted) -> Checked:
    if not call.waits_opened:
        return None
    if call.approved is None:
        return Breach(Reason.CALL_NOT_ADMITTED, f"the Wait of call {call.call_id} has no approving answer")
    found = (record.wait_id, record.arguments_digest)
    if found != (call.approved.wait_id, call.approved.arguments_digest):
        detail = f"call {call.call_id} begins with {found}, which nobody approved"
        return Breach(Reason.CALL_NOT_ADMITTED, detail)
    return None


def _tool_call_finished(state: RunStateView, record: ToolCallFinished) -> Checked:
    call = _open_call(state, record)
    if isinstance(call, Breach):
        return call
    if record.outcome not in POSSIBLE_OUTCOMES[call.phase] and not _answers(call, record):
        detail = f"{record.outcome} of call {call.call_id}, which is {call.phase}"
        return Breach(Reason.IMPOSSIBLE_OUTCOME, detail)
    return _number("turn", record.turn, call.turn)


def _answers(call: CallState, record: ToolCallFinished) -> bool:
    """The call by which an answer is given begins nothing, and ends well all the same."""
    return call.name == ANSWER_TOOL and call.phase == "announced" and record.outcome is ToolOutcome.OK


def _suspended(state: RunStateView, record: Suspended) -> Checked:
    call = state.calls.get(record.call_id)
    if call is None or call.lane != record.lane or call.phase != "announced" or call.wait_id is not None:
        return Breach(Reason.WAIT_OWNER_MISMATCH, f"call {record.call_id} cannot open a Wait")
    expected = derive_wait_id(state.run_id, record.call_id, call.waits_opened)
    if record.wait_id != expected:
        return Breach(Reason.WRONG_ID, f"Wait {record.wait_id}, expected {expected}")
    return None


def _resumed(state: RunStateView, record: Resumed) -> Checked:
    wait = state.waits.get(record.wait_id)
    if wait is None or wait.lane != record.lane or wait.answer is not None:
        return Breach(Reason.WAIT_NOT_OPEN, f"Wait {record.wait_id} is not open in lane {record.lane!r}")
    if record.cause == "expired":
        wrong = record.epoch == 0 or record.approved is not None
        return Breach(Reason.WRONG_ANSWER, "a Worker alone lets a Wait expire, undecided") if wrong else None
    return _decision(record, shown=wait.arguments_digest)


def _decision(record: Resumed, *, shown: str) -> Checked:
    if record.approved is None:
        return Breach(Reason.WRONG_ANSWER, "an approval is answered yes or no")
    if record.shown_digest != shown:
        return Breach(Reason.WRONG_ANSWER, f"the answer is to {record.shown_digest}, the Wait shows {shown}")
    edited = record.arguments is not None or record.erased
    if record.approved and record.arguments_digest != shown and not (edited and record.arguments_digest):
        detail = f"it approves {record.arguments_digest} unedited, the Wait shows {shown}"
        return Breach(Reason.WRONG_ANSWER, detail)
    return None


_RULES: dict[type, Callable[[RunStateView, Any], Checked]] = {
    AttemptStarted: _attempt_started,
    TurnStarted: _turn_started,
    QueueConsumed: _queue_consumed,
    ModelCallStarted: _model_call_started,
    ModelCallFinished: _model_call_finished,
    ModelCallFailed: _same_try,
    ToolCallStarted: _tool_call_started,
    ToolCallFinished: _tool_call_finished,
    Suspended: _suspended,
    Resumed: _resumed,
}

"""Calls and their results, and the conversation that they make."""

from __future__ import annotations

from collections.abc import Iterator

from psych_runtime.testing.auditing.judged import Fault, JudgedLog
from psych_runtime_core.engine.conversation import Conversation
from psych_runtime_core.engine.prompt import system_prompt
from psych_runtime_core.ids import ToolCallId, derive_call_id
from psych_runtime_core.messages import AssistantMessage, ToolResultMessage
from psych_runtime_core.records import Record
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFinished, ModelCallStarted, TurnStarted


def call_answered_once(log: JudgedLog) -> Iterator[Fault]:
    """Each announced call has one result, before its lane takes another turn and before the Run settles."""
    open_calls: dict[ToolCallId, str] = {}
    for record in log.records:
        match record:
            case ModelCallFinished():
                open_calls.update((call.call_id, record.lane) for call in record.calls)
            case ToolCallStarted() if record.call_id not in open_calls:
                yield Fault(record.seq, f"{record.call_id} begins, and is not an open call")
            case ToolCallFinished():
                if open_calls.pop(record.call_id, None) is None:
                    yield Fault(record.seq, f"a result of {record.call_id}, which is not an open call")
            case TurnStarted() | RunSettled():
                lanes = {record.lane} if isinstance(record, TurnStarted) else set(open_calls.values())
                unanswered = sorted(call for call, lane in open_calls.items() if lane in lanes)
                if unanswered:
                    yield Fault(record.seq, f"{record.type} before the results of {', '.join(unanswered)}")
            case _:
                pass


def answers_in_call_order(log: JudgedLog) -> Iterator[Fault]:
    """The model is told the results of a turn in the order in which it asked, however they ran."""
    for record in log.all(ModelCallFinished):
        for ordinal, call in enumerate(record.calls):
            if call.call_id != derive_call_id(log.run_id, record.lane, record.turn, ordinal):
                yield Fault(
                    record.seq, f"call {ordinal} of turn {record.turn} is {call.call_id}, out of order"
                )
    asked: list[str] = []
    told: list[str] = []
    last = log.entries[-1].seq if log.entries else 0
    for message in _conversation(log, log.records).prompt().messages:
        if isinstance(message, AssistantMessage):
            asked += [call.id for call in message.tool_calls]
        elif isinstance(message, ToolResultMessage):
            told.append(message.call_id)
    if asked != told:
        yield Fault(last, f"the calls {asked} are answered in the order {told}")


def history_sendable(log: JudgedLog) -> Iterator[Fault]:
    """Every request that was made could be sent to a strict provider."""
    conversation = _conversation(log, ())
    # What an erased admission was asked is gone, and not a message that was never there.
    is_told = log.admitted is not None and not log.admitted.erased
    for record in log.records:
        conversation.absorb(record)
        if not isinstance(record, ModelCallStarted):
            continue
        prompt = conversation.prompt()
        fault = prompt.check()
        if fault is not None:
            yield Fault(fault.seq, fault.detail)
            return
        if log.spec is not None and is_told and not prompt.messages:
            yield Fault(record.seq, "a request without a message")


def _conversation(log: JudgedLog, records: tuple[Record, ...]) -> Conversation:
    conversation = Conversation(system_prompt(log.spec) if log.spec else "")
    for record in records:
        conversation.absorb(record)
    return conversation

"""What people allowed, what ran, and the digests that prove it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from psych_runtime.testing.auditing.judged import CallRecords, Fault, JudgedLog
from psych_runtime_core.arguments import read_arguments
from psych_runtime_core.engine.results import result_digest
from psych_runtime_core.ids import ToolCallId, WaitId, call_digest, content_digest
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.messages import ToolCall
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import Sent, ToolOutcome
from psych_runtime_core.records.run import NO_SALT, AbortRequested, RunSettled
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.state.legal import Group, group_of


def approved_is_what_ran(log: JudgedLog) -> Iterator[Fault]:
    """A call that a person was asked about runs with their yes alone, and with what they saw or wrote."""
    waits = {record.wait_id: record for record in log.all(Suspended)}
    asked: dict[ToolCallId, WaitId] = {}
    allowed: dict[WaitId, Resumed] = {}
    for record in log.records:
        match record:
            case Suspended():
                asked[record.call_id] = record.wait_id
            case Resumed(approved=True) if record.wait_id in waits:
                allowed[record.wait_id] = record
                shown = waits[record.wait_id].arguments_digest
                if record.arguments is None and record.arguments_digest != shown:
                    yield Fault(record.seq, "an unedited approval of other arguments than were shown")
            case ToolCallStarted(decision="approved"):
                yield from _unapproved(record, asked, allowed)
            case ToolCallStarted() if record.call_id in asked:
                yield Fault(record.seq, f"{record.call_id} waited for a person and begins {record.decision}")
            case _:
                pass
    yield from _ran_otherwise(log)


def _unapproved(
    start: ToolCallStarted, asked: Mapping[ToolCallId, WaitId], allowed: Mapping[WaitId, Resumed]
) -> Iterator[Fault]:
    answer = allowed.get(asked.get(start.call_id, WaitId("")))
    if answer is None or start.wait_id != answer.wait_id:
        yield Fault(start.seq, f"{start.call_id} begins approved, and nobody approved it before")
    elif start.arguments_digest != answer.arguments_digest:
        yield Fault(start.seq, f"{start.call_id} begins with other arguments than were approved")


def _ran_otherwise(log: JudgedLog) -> Iterator[Fault]:
    for each in log.effects or ():
        call = log.calls.get(each.call_id)
        if call is None or not call.starts:
            continue
        given = arguments_of(call, each.run_number)
        if given is not None and each.arguments_digest != content_digest(b"", given):
            seq = call.starts[-1].seq
            yield Fault(seq, f"{each.call_id} ran with other arguments than its log says")


def arguments_of(call: CallRecords, run_number: int) -> Mapping[str, Json] | None:
    """What the run of this number was given: what the model asked for, or what a person made of it.

    None where that is erased.
    """
    edited = [
        start.arguments
        for start in call.starts
        if start.run_number <= run_number and start.arguments is not None
    ]
    if edited:
        return edited[-1]
    return None if call.announced.erased else read_arguments(call.asked.arguments)


def digests_true(log: JudgedLog) -> Iterator[Fault]:
    """Every digest is that of its content; of what is erased or redacted nothing can be said."""
    if log.salt == NO_SALT:
        return
    for record in log.records:
        if not record.erased:
            yield from (Fault(record.seq, f"{name} is no digest of it") for name in _false(log, record))


def _false(log: JudgedLog, record: Record) -> Iterator[str]:
    match record:
        case ModelCallFinished():
            yield from _false_announcements(log.salt, record)
            yield from _false_prompt(log.salt, record.sent)
        case ModelCallFailed():
            yield from _false_prompt(log.salt, record.sent)
        case ToolCallStarted() if record.call_id in log.calls:
            arguments = arguments_of(log.calls[record.call_id], record.run_number)
            if arguments is not None and record.arguments_digest != call_digest(
                log.salt, record.tool, arguments
            ):
                yield "arguments_digest"
        case ToolCallFinished() if record.answer_digest not in {None, _answer_digest(log.salt, record)}:
            yield "answer_digest"
        case Resumed() if record.arguments is not None:
            tools = {wait.wait_id: wait.tool for wait in log.all(Suspended)}
            if record.arguments_digest != call_digest(log.salt, tools[record.wait_id], record.arguments):
                yield "arguments_digest"
        case _:
            pass


def _false_announcements(salt: bytes, record: ModelCallFinished) -> Iterator[str]:
    for call, said in zip(record.calls, record.tool_calls, strict=True):
        if call.arguments_digest != call_digest(salt, said.name, _asked(said)):
            yield f"arguments_digest of {call.call_id}"


def _asked(said: ToolCall) -> Mapping[str, Json] | str:
    try:
        return read_arguments(said.arguments)
    except ValueError:
        return said.arguments


def _false_prompt(salt: bytes, sent: Sent | None) -> Iterator[str]:
    text = sent.system_prompt if sent else None
    if sent is not None and text is not None and sent.prompt_hash != content_digest(salt, text):
        yield "prompt_hash"


def _answer_digest(salt: bytes, record: ToolCallFinished) -> str | None:
    """The digest that an answer must have. Of one in a blob no log can tell."""
    failure = record.failure
    if record.result_blob_key is not None:
        return record.answer_digest
    if record.outcome is ToolOutcome.OK or failure is None:
        return result_digest(salt, encode_json(record.result), record.attachments)
    return content_digest(salt, {"kind": failure.kind, "message": failure.message})


def abort_beats(log: JudgedLog) -> Iterator[Fault]:
    """After a request to stop nothing begins, and the Run does not complete."""
    aborted_at: int | None = None
    for record in log.records:
        if isinstance(record, AbortRequested):
            aborted_at = aborted_at or record.seq
        elif aborted_at is not None and group_of(record) is Group.BEGINS:
            what = f"the Run is {record.state}" if isinstance(record, RunSettled) else record.type
            yield Fault(record.seq, f"{what} after the abort at {aborted_at}")

"""What was said and done in a Run, as rows: one record after the other, so a Run can be followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from psych_runtime.cli.output import Row
from psych_runtime_core.jsonvalue import json_text
from psych_runtime_core.records import Record
from psych_runtime_core.records.queue import QueueConsumed
from psych_runtime_core.records.run import AbortRequested, AttemptStarted, RunAdmitted
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.tree import instant
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.texts import text_of_input, text_of_result
from psych_runtime_core.views.projection import RunProjection

Rows = Iterator[Row]


def rows_of(view: RunProjection, record: Record, hidden: str) -> Rows:
    """What `record`, the last one that `view` absorbed, adds to the conversation.

    `hidden` stands for what it said and can no longer be read.
    """
    tell = _ROWS.get(type(record))
    return tell(view, record, hidden) if tell else iter(())


def _admitted(_: RunProjection, record: RunAdmitted, hidden: str) -> Rows:
    yield Row("user", hidden if record.erased else text_of_input(record.input))


def _consumed(view: RunProjection, record: QueueConsumed, hidden: str) -> Rows:
    sent = view.entries[record.entry_id].enqueued
    yield Row(sent.queue, hidden if sent.erased else text_of_input(sent.payload))


def _attempt(_: RunProjection, record: AttemptStarted, _hidden: str) -> Rows:
    if record.attempt_number > 1:
        why = ", after a lease that ran out" if record.reclaimed_expired_lease else ""
        yield Row("attempt", f"{record.attempt_number}, by {record.worker_id}{why}")


def _turn(_: RunProjection, record: TurnStarted, _hidden: str) -> Rows:
    if record.repair is not None:
        yield Row("repair", record.repair)


def _said(view: RunProjection, record: ModelCallFinished, hidden: str) -> Rows:
    if record.text or record.erased:
        yield Row("assistant", hidden if record.erased else record.text)
    for announced in record.calls:
        arguments = hidden if record.erased else view.calls[announced.call_id].announced_arguments
        yield Row("call", _call(announced.name, arguments))


def _failed(_: RunProjection, record: ModelCallFailed, hidden: str) -> Rows:
    after = f"; {record.next_model} is asked next" if record.next_model else ""
    message = hidden if record.erased else record.failure.message
    yield Row("model", f"{record.failure.kind}: {message}{after}", "failed")


def _started(_: RunProjection, record: ToolCallStarted, _hidden: str) -> Rows:
    if record.run_number > 1:
        yield Row("again", f"{record.tool}, run {record.run_number} of this call")
    if record.arguments is not None:
        yield Row("edited", _call(record.tool, record.arguments))


def _finished(_: RunProjection, record: ToolCallFinished, hidden: str) -> Rows:
    result = hidden if record.erased else text_of_result(record)
    yield Row("result", f"{record.tool}: {result}", record.outcome)


def _suspended(_: RunProjection, record: Suspended, hidden: str) -> Rows:
    shown = f"for a person to allow {record.tool}, {record.tool_class}, until {instant(record.due_at)}"
    question = hidden if record.erased else record.question
    asked = f"\n{question}" if question else ""
    yield Row("wait", f"{record.wait_id} {shown}\ndigest {record.arguments_digest}{asked}")


def _resumed(view: RunProjection, record: Resumed, _hidden: str) -> Rows:
    decision = "approved" if record.approved else "denied"
    state = "expired" if record.cause == "expired" else decision
    by = f" by {record.resumed_by}" if record.resumed_by else ""
    yield Row("decision", f"{view.waits[record.wait_id].suspended.tool}{by}, {record.wait_id}", state)


def _stopped(_: RunProjection, record: AbortRequested, hidden: str) -> Rows:
    by = f" by {record.requested_by}" if record.requested_by else ""
    reason = hidden if record.erased else record.reason
    yield Row("stop", f"asked for{by}{': ' if reason else ''}{reason}")


def _call(tool: str, arguments: object) -> str:
    """A call as it reads best: its arguments as JSON, or as the model wrote them when they are none."""
    return f"{tool} {arguments if isinstance(arguments, str) else json_text(arguments)}"


_ROWS: Mapping[type, Callable[[RunProjection, Any, str], Rows]] = {
    RunAdmitted: _admitted,
    QueueConsumed: _consumed,
    AttemptStarted: _attempt,
    TurnStarted: _turn,
    ModelCallFinished: _said,
    ModelCallFailed: _failed,
    ToolCallStarted: _started,
    ToolCallFinished: _finished,
    Suspended: _suspended,
    Resumed: _resumed,
    AbortRequested: _stopped,
}

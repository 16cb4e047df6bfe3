"""A conversation as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records.facts import QueueKind, ToolOutcome
from psych_runtime_core.records.queue import QueueConsumed
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.records.turn import ModelCallFinished, TurnStarted
from psych_runtime_core.texts import text_of_input, text_of_result
from psych_runtime_core.views.projection import RunProjection, Said

Role = Literal["user", "assistant", "tool"]
Origin = Literal["input", "steer", "follow_up", "repair", "model", "tool"]
_ORIGINS: Mapping[QueueKind, Origin] = {QueueKind.STEER: "steer", QueueKind.FOLLOW_UP: "follow_up"}


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message, and the record it stands in. `origin` says where it came from."""

    role: Role
    content: str
    run_id: RunId
    seq: int
    at: datetime
    lane: str
    origin: Origin
    tool_name: str | None = None
    tool_call_id: ToolCallId | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ThreadView:
    """What was said, in the order it was recorded, oldest Run first. Nothing is left out or summed up."""

    run_ids: tuple[RunId, ...]
    messages: tuple[MessageView, ...]


def thread_of(views: Iterable[RunProjection]) -> ThreadView:
    """The conversation of these Runs, given oldest first."""
    runs = tuple(views)
    return ThreadView(
        run_ids=tuple(view.run_id for view in runs),
        messages=tuple(message for view in runs for message in _messages(view)),
    )


def _messages(view: RunProjection) -> Iterator[MessageView]:
    for record in view.said:
        match record:
            case RunAdmitted():
                yield from _user(record, record.input, "input")
            case QueueConsumed():
                entry = view.entries[record.entry_id].enqueued
                yield from _user(record, entry.payload, _ORIGINS[entry.queue])
            case TurnStarted():
                yield from _repair(record)
            case ModelCallFinished():
                yield from _assistant(record)
            case ToolCallFinished():
                yield _result(record)


def _user(record: Said, payload: Mapping[str, Json], origin: Origin) -> Iterator[MessageView]:
    text = text_of_input(payload)
    if text:
        yield MessageView("user", text, record.run_id, record.seq, record.at, record.lane, origin)


def _repair(record: TurnStarted) -> Iterator[MessageView]:
    if record.repair:
        at = (record.run_id, record.seq, record.at, record.lane)
        yield MessageView("user", record.repair, *at, "repair")


def _assistant(record: ModelCallFinished) -> Iterator[MessageView]:
    text = record.text
    if text or record.calls:
        yield MessageView("assistant", text, record.run_id, record.seq, record.at, record.lane, "model")


def _result(record: ToolCallFinished) -> MessageView:
    return MessageView(
        role="tool",
        content=text_of_result(record),
        run_id=record.run_id,
        seq=record.seq,
        at=record.at,
        lane=record.lane,
        origin="tool",
        tool_name=record.tool,
        tool_call_id=record.call_id,
        is_error=record.outcome is not ToolOutcome.OK,
    )

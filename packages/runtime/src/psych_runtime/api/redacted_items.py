"""Records, headers and Specs without what anybody said in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel

from psych_runtime.api.export_file import BlobPiece
from psych_runtime.api.placeholders import NOWHERE, placeholder, text_placeholder
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.messages import AssistantMessage, FinishReason, ModelSource, ToolCall
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import FailureKind, ResultAttachment, ToolFailure
from psych_runtime_core.records.queue import QueueEnqueued
from psych_runtime_core.records.run import AbortRequested, RunAdmitted
from psych_runtime_core.records.tree import plans
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.records.wait import Resumed
from psych_runtime_core.spec.headers import no_headers
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.version import Version

M = TypeVar("M", bound=BaseModel)


def _gone(_value: object) -> None:
    return None


def _unless_of(words: type[StrEnum]) -> Callable[[str | None], object]:
    ours = {word.value for word in words}
    return lambda said: said if said in ours else placeholder(said)


# The status of a reply, and the one code by which a Run goes on otherwise.
KEPT_CODE = re.compile(r"[1-5][0-9]{2}|model_not_found")


def _code(said: str | None) -> object:
    return said if said and KEPT_CODE.fullmatch(said) else placeholder(said)


# Facts that tell of a person or of what a file holds, or that a tool or a provider says in words of its own.
TELLING: Mapping[tuple[type[BaseModel], str], Callable[[Any], object]] = {
    (RunAdmitted, "idempotency_key"): _gone,
    (QueueEnqueued, "sent_by"): placeholder,
    (AbortRequested, "requested_by"): placeholder,
    (Resumed, "resumed_by"): placeholder,
    (ToolFailure, "kind"): _unless_of(FailureKind),
    (ToolFailure, "code"): _code,
    (ModelCallFinished, "raw_finish_reason"): _unless_of(FinishReason),
    (ModelCallFinished, "served_model"): placeholder,
    (ModelCallFinished, "service_tier"): placeholder,
    (ResultAttachment, "name"): placeholder,
    (ResultAttachment, "content_type"): placeholder,
    (ResultAttachment, "sha256"): _gone,
}


def redacted_record(record: Record) -> Record:
    """The record with its facts, and placeholders for its content."""
    if record.erased and isinstance(record, ModelCallFinished):
        record = record.model_copy(update={"message": _announcing(record)})
    return _redacted(record)


def redacted_header(header: RunHeader) -> RunHeader:
    """The header without what it says of a person, and without the key that an input could be guessed by."""
    gone = {"idempotency_key": None, "request": bytes(32)}
    return header.model_copy(update={"scope": _redacted(header.scope), **gone})


def redacted_version(version: Version) -> Version:
    """The Version of the Spec with its names, tools and limits, without its words; its hash is another."""
    spec = version.spec
    said = {
        "description": text_placeholder(spec.description),
        "instructions": text_placeholder(spec.instructions),
        "model": spec.model.model_copy(update={"options": FrozenDict(), "stop": ()}),
        "tools": tuple(map(_redacted_tool, spec.tools)),
        "input_schema": None,
        "output_schema": None,
    }
    return Version.of(spec.model_copy(update=said))


def redacted_piece(piece: BlobPiece) -> BlobPiece:
    """As many bytes, all of them 0."""
    content_type = text_placeholder(piece.content_type)
    return replace(piece, content_type=content_type, metadata={}, data=bytes(len(piece.data)))


def _redacted(model: M) -> M:
    changed: dict[str, object] = {}
    for plan in plans(type(model)):
        value: Any = getattr(model, plan.name)
        replaced = TELLING.get((type(model), plan.name))
        if replaced is not None:
            changed[plan.name] = replaced(value)
        elif plan.content is not None:
            changed[plan.name] = placeholder(value)
        elif plan.parted == "each":
            changed[plan.name] = _redacted_each(value)
        elif plan.parted == "one" and value is not None:
            changed[plan.name] = _redacted(value)
    return model.model_copy(update=changed)


def _redacted_each(models: Iterable[BaseModel]) -> tuple[BaseModel, ...]:
    return tuple(_redacted(model) for model in models)


def _announcing(record: ModelCallFinished) -> AssistantMessage:
    """A message of the calls that an erased one announced, for a reader to whom it is not erased."""
    calls = [ToolCall(id=call.call_id, name=call.name) for call in record.calls]
    return AssistantMessage(parts=tuple(calls), source=ModelSource(provider="", model=""))


def _redacted_tool(tool: CodeTool | HttpTool) -> CodeTool | HttpTool:
    if isinstance(tool, CodeTool):
        return tool
    return tool.model_copy(
        update={
            "description": text_placeholder(tool.description),
            "url": NOWHERE,
            "input_schema": FrozenDict(),
            "query": (),
            "headers": no_headers(),
            "credential": None,
            "idempotency_header": None,
        }
    )

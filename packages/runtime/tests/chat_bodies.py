"""Requests and conversations for tests of what goes out, and their bodies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psych_runtime.model.chat.dialects import DIALECTS
from psych_runtime.model.chat.request.encode import encode_request
from psych_runtime.model.chat.request.messages import Terms
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    Media,
    Message,
    ModelSource,
    Part,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime_core.ports.model import ModelCapabilities, ModelRequest

MODEL = "m-1"
FOREIGN = ModelSource(provider="elsewhere", model=MODEL)
PNG = Media(media_type="image/png", data=b"\x89PNG")
PDF = Media(media_type="application/pdf", data=b"%PDF")
WAV = Media(media_type="audio/wav", data=b"RIFF")


def terms(dialect: str = "other", **able: Any) -> Terms:
    """Terms of a dialect; `able` are capabilities that differ from its row."""
    row = DIALECTS[dialect]
    capabilities: ModelCapabilities = replace(row.capabilities, **able)
    return Terms(row, capabilities, ModelSource(provider=dialect, model=MODEL))


def conversation(*messages: Message) -> list[Message]:
    """The messages as a list that may grow."""
    return list(messages)


def source(dialect: str = "other") -> ModelSource:
    return ModelSource(provider=dialect, model=MODEL)


def encoded(
    what: ModelRequest | Sequence[Message], where: Terms | None = None, key: str | None = None
) -> bytes:
    """The body of a request, or of one that is nothing but its messages."""
    asked = what if isinstance(what, ModelRequest) else request(*what)
    return encode_request(asked, where or terms(), cache_key=key)


def request(*messages: Message, **fields: Any) -> ModelRequest:
    return ModelRequest(MODEL, messages or (UserMessage(content="hi"),), **fields)


def wire(messages: Sequence[Message], where: Terms | None = None) -> list[dict[str, Any]]:
    """The messages of a body, decoded."""
    decoded: list[dict[str, Any]] = json.loads(encoded(messages, where))["messages"]
    return decoded


def answer(*parts: AssistantPart | str, by: ModelSource | None = None) -> AssistantMessage:
    """An answer; plain strings are its text."""
    made = (TextPart(text=part) if isinstance(part, str) else part for part in parts)
    return AssistantMessage(parts=tuple(made), source=by or source())


def call(id: str = "c1", arguments: str = "{}", given: str | None = None, opaque: Json = None) -> ToolCall:
    return ToolCall(id=ToolCallId(id), name="look", arguments=arguments, provider_id=given, opaque=opaque)


def result(id: str = "c1", content: str | tuple[Part, ...] = "ok") -> ToolResultMessage:
    return ToolResultMessage(call_id=ToolCallId(id), name="look", content=content)


def tool(name: str = "look", **parameters: Json) -> ToolDefinition:
    return ToolDefinition(name=name, description=f"It can {name}.", parameters=parameters)

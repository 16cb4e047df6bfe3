"""A request and its bytes, and the words in which requests are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    ModelSource,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime_core.ports.model import ModelCapabilities, ModelRequest

MODEL = "m-1"
ASK = UserMessage(content="Look.")
ASKED = '{"role":"user","content":"Look."}'
# How a request begins, at all providers but one.
BEGIN = '{"model":"m-1","stream":true,"stream_options":{"include_usage":true},'


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCase:
    """A request to a provider of `dialect`, which is its name too, and the body that it must be sent.

    `capabilities` are those of the model, where they are not the dialect's. `refused` is the code of the
    error that comes in place of a body: nothing is sent then.
    """

    id: str
    dialect: str
    request: ModelRequest
    body: str = ""
    refused: str | None = None
    cache_key: str | None = None
    capabilities: ModelCapabilities | None = None


def request(*messages: Message, **fields: Any) -> ModelRequest:
    """A request of these messages, or of one that asks to look."""
    return ModelRequest(MODEL, messages or (ASK,), **fields)


def answer(by: str, *parts: AssistantPart) -> AssistantMessage:
    """What the model said at the provider `by`."""
    return AssistantMessage(parts=parts, source=ModelSource(provider=by, model=MODEL))


def said(text: str) -> TextPart:
    """Text of an answer."""
    return TextPart(text=text)


def thought(text: str, field: str = "reasoning_content") -> ReasoningPart:
    """Reasoning that came in this field."""
    return ReasoningPart(text=text, opaque={"field": field})


def call(id: str, arguments: str = "{}", given: str | None = None, opaque: Json = None) -> ToolCall:
    """A call of `look`; `given` is the provider's id of it."""
    return ToolCall(id=ToolCallId(id), name="look", arguments=arguments, provider_id=given, opaque=opaque)


def result(id: str, content: str | tuple[Part, ...] = "Seen.") -> ToolResultMessage:
    """The result of the call `id`."""
    return ToolResultMessage(call_id=ToolCallId(id), name="look", content=content)


LOOK = ToolDefinition(
    name="look",
    description="Looks there.",
    parameters={"type": "object", "required": ["at"], "properties": {"at": {"type": "integer"}}},
)
TOOL = (
    '{"type":"function","function":{"name":"look","description":"Looks there.",'
    '"parameters":{"properties":{"at":{"type":"integer"}},"required":["at"],"type":"object"}}}'
)

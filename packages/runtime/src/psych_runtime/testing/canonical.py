"""A request without what differs from Run to Run: calls by their order, media by their digest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    ImagePart,
    Media,
    Message,
    Part,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

P = TypeVar("P", bound=Part | AssistantPart)


def canonical(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Equal for equal conversations: the ids of calls, which a Run derives from its own, are numbered."""
    names: dict[ToolCallId, ToolCallId] = {}
    return tuple(_renamed(message, names) for message in messages)


def by_digest(media: Media) -> Media:
    """`media` without its bytes, where it holds them: its digest is its key."""
    if media.data is None:
        return media
    return media.model_copy(update={"data": None, "blob_key": f"sha256:{media.sha256}"})


def _renamed(message: Message, names: dict[ToolCallId, ToolCallId]) -> Message:
    match message:
        case SystemMessage():
            return message
        case UserMessage():
            return message.model_copy(update={"content": _content(message.content)})
        case AssistantMessage():
            parts = (_numbered(part, names) if isinstance(part, ToolCall) else part for part in message.parts)
            return message.model_copy(update={"parts": tuple(map(_light, parts))})
        case ToolResultMessage():
            call_id = names.get(message.call_id, message.call_id)
            return message.model_copy(update={"call_id": call_id, "content": _content(message.content)})


def _numbered(call: ToolCall, names: dict[ToolCallId, ToolCallId]) -> ToolCall:
    name = names.setdefault(call.id, ToolCallId(f"call_{len(names) + 1}"))
    return call.model_copy(update={"id": name})


def _content(content: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    return content if isinstance(content, str) else tuple(map(_light, content))


def _light(part: P) -> P:
    if not isinstance(part, ImagePart | FilePart):
        return part
    return cast("P", part.model_copy(update={"media": by_digest(part.media)}))

"""A request without what differs from Run to Run: calls and handles by order, media by digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from psych_runtime_core.ids import HANDLE, ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    ImagePart,
    Media,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

P = TypeVar("P", bound=Part | AssistantPart)


def canonical(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Equal for equal conversations: the ids of calls, and handles that results name, are numbered."""
    names = _Names({}, {})
    return tuple(_renamed(message, names) for message in messages)


@dataclass(frozen=True, slots=True)
class _Names:
    """What a Run derives from its own id, and what stands in its place."""

    calls: dict[ToolCallId, ToolCallId]
    handles: dict[str, str]

    def numbered(self, text: str) -> str:
        return HANDLE.sub(lambda found: self._of_handle(found[0]), text)

    def _of_handle(self, handle: str) -> str:
        return self.handles.setdefault(handle, f"handle_{len(self.handles) + 1}")


def by_digest(media: Media) -> Media:
    """`media` without its bytes, where it holds them: its digest is its key."""
    if media.data is None:
        return media
    return media.model_copy(update={"data": None, "blob_key": f"sha256:{media.sha256}"})


def _renamed(message: Message, names: _Names) -> Message:
    match message:
        case SystemMessage():
            return message
        case UserMessage():
            return message.model_copy(update={"content": _content(message.content)})
        case AssistantMessage():
            parts = (
                _numbered(part, names.calls) if isinstance(part, ToolCall) else part for part in message.parts
            )
            return message.model_copy(update={"parts": tuple(map(_light, parts))})
        case ToolResultMessage():
            call_id = names.calls.get(message.call_id, message.call_id)
            return message.model_copy(update={"call_id": call_id, "content": _result(message.content, names)})


def _numbered(call: ToolCall, names: dict[ToolCallId, ToolCallId]) -> ToolCall:
    name = names.setdefault(call.id, ToolCallId(f"call_{len(names) + 1}"))
    return call.model_copy(update={"id": name})


def _content(content: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    return content if isinstance(content, str) else tuple(map(_light, content))


def _result(content: str | tuple[Part, ...], names: _Names) -> str | tuple[Part, ...]:
    if isinstance(content, str):
        return names.numbered(content)
    return tuple(
        part.model_copy(update={"text": names.numbered(part.text)})
        if isinstance(part, TextPart)
        else _light(part)
        for part in content
    )


def _light(part: P) -> P:
    if not isinstance(part, ImagePart | FilePart):
        return part
    return cast("P", part.model_copy(update={"media": by_digest(part.media)}))

"""What a model showed besides its answer, as its own provider wants it back: in the field it came from."""

from __future__ import annotations

from psych_runtime.model.chat.request.media import Block
from psych_runtime.model.shapes import Object, members
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCall,
)

# The field of reasoning that says of none where it came from.
_PLAIN_FIELD = "reasoning_content"
# Their items come back whole; the text that was shown out of them does not come back beside them.
_ITEM_FIELDS = frozenset({"reasoning_details", "thinking_blocks"})
_IN_CONTENT = "content"


def reasoning_fields(message: AssistantMessage) -> dict[str, Json]:
    """The fields beside the content that held reasoning: text joined, anything else as it was."""
    texts: dict[str, str] = {}
    values: dict[str, Json] = {}
    for part in message.parts:
        if not isinstance(part, ReasoningPart | OpaquePart):
            continue
        origin = members(part.opaque)
        name = origin.get("field", _PLAIN_FIELD if isinstance(part, ReasoningPart) else None)
        if not isinstance(name, str) or name == _IN_CONTENT:
            continue
        if isinstance(part, ReasoningPart) and part.text and name not in _ITEM_FIELDS:
            texts[name] = texts.get(name, "") + part.text
        for key in {"items", "value"}.intersection(origin):
            values[name] = origin[key]
    return {**texts, **values}


def content_blocks(message: AssistantMessage) -> list[Json] | None:
    """The content as a list, where a part of it is more than text; None for one that is text alone."""
    blocks = [block for part in message.parts if (block := _block(part)) is not None]
    return None if all(block.get("type") == "text" for block in blocks) else [*blocks]


def call_extras(call: ToolCall) -> tuple[Object, Object]:
    """The further keys of a call and of its function."""
    kept = members(call.opaque)
    return members(kept.get("call")), members(kept.get("function"))


def _block(part: AssistantPart) -> Block | None:
    """A part as the block of content that it was; None for what was none."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text} if part.text else None
    if not isinstance(part, ReasoningPart | OpaquePart):
        return None
    origin = members(part.opaque)
    if origin.get("field") != _IN_CONTENT:
        return None
    if isinstance(part, OpaquePart):
        return dict(members(origin.get("part"))) or None
    thought: Json = part.text if origin.get("form") == "text" else [{"type": "text", "text": part.text}]
    return {"type": "thinking", "thinking": thought, **members(origin.get("extra"))}

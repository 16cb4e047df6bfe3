"""What a model thought, out of the fields in which providers show it, and as they want it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from psych_runtime.model.chat.reply.opaque import opaque_of
from psych_runtime.model.shapes import Object, items, members
from psych_runtime_core.ports.model import OpaqueDelta, ReasoningDelta

# The first one that says something is shown; the others say the same again.
_PLAIN_FIELDS = ("reasoning_content", "reasoning")
_ITEM_FIELDS = {"reasoning_details": ("text", "summary"), "thinking_blocks": ("thinking",)}
THOUGHTS = frozenset((*_PLAIN_FIELDS, *_ITEM_FIELDS))
_TEXT_KEYS = ("text", "content", "summary", "thinking")
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class ReasoningItem:
    """A piece of an item of a list field, which goes back whole."""

    field: str
    entry: Object


def reasoning_pieces(delta: Object) -> Iterator[ReasoningDelta | OpaqueDelta | ReasoningItem]:
    """The thoughts in a delta, each with the field it came from as its mark."""
    for name in _PLAIN_FIELDS:
        value: object = delta.get(name)
        text = written(value) if value else ""
        if text:
            yield ReasoningDelta(text, {"field": name})
        elif items(value) or members(value):
            yield OpaqueDelta(name, opaque_of({"field": name, "value": value}))
    for name, keys in _ITEM_FIELDS.items():
        for entry in items(delta.get(name)):
            item = ReasoningItem(name, members(entry))
            shown = next(filter(None, (written(item.entry.get(key)) for key in keys)), "")
            if shown:
                yield ReasoningDelta(shown, {"field": name})
            if item.entry:
                yield item


def written(value: object, depth: int = 0) -> str:
    """The text in `value`: itself, or what a list or an object of a few levels holds of it."""
    if isinstance(value, str):
        return value
    if not value or depth == _MAX_DEPTH:
        return ""
    inner = members(value)
    held = next(filter(None, (written(inner[key], depth + 1) for key in _TEXT_KEYS if key in inner)), "")
    return held or "".join(written(item, depth + 1) for item in items(value))

"""Placeholders: what a value was, and nothing of what it said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

from psych_runtime_core.jsonvalue import decode_json, json_text
from psych_runtime_core.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Media,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
)

# A key of this form names a field; any other may be somebody's data.
FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
# No one can be reached under it.
NOWHERE = "https://redacted.invalid/"

# What stays of a message: what its parts are, and which calls it makes. All else is replaced.
KEPT: Mapping[type[BaseModel], frozenset[str]] = {
    AssistantMessage: frozenset({"role", "source"}),
    TextPart: frozenset({"type"}),
    ReasoningPart: frozenset({"type"}),
    RefusalPart: frozenset({"type"}),
    ToolCall: frozenset({"type", "id", "name", "provider_id"}),
    OpaquePart: frozenset({"type", "kind"}),
    ImagePart: frozenset({"type", "detail"}),
    FilePart: frozenset({"type"}),
}


def placeholder(value: Any) -> Any:
    """A value of the same shape: texts by their length, numbers and bytes 0, keys that name fields kept."""
    match value:
        case None:
            return None
        case str():
            return text_placeholder(value)
        case bool() | int() | float():
            return type(value)()
        case bytes():
            return bytes(len(value))
        case Media():
            return _media(value)
        case BaseModel():
            return _model(value)
        case Mapping():
            return _object(cast("Mapping[str, object]", value))
        case Sequence():
            return tuple(map(placeholder, cast("Sequence[object]", value)))
        case _:
            raise TypeError(f"{type(value).__name__} has no placeholder")


def text_placeholder(text: str) -> str:
    """`<text 214>` of a text of 214 characters; of an empty one, that."""
    return f"<text {len(text)}>" if text else ""


def _object(value: Mapping[str, object]) -> Mapping[str, object]:
    return {
        key if FIELD_NAME.fullmatch(key) else f"<key {place}>": placeholder(item)
        for place, (key, item) in enumerate(value.items(), 1)
    }


def _model(model: BaseModel) -> BaseModel:
    kept = KEPT[type(model)]
    fields = {
        name: value if name in kept else _arguments(value) if name == "arguments" else placeholder(value)
        for name, value in model
    }
    return type(model).model_validate(fields)


def _arguments(text: str) -> str:
    """Arguments are the JSON of an object, or what a model wrote in its place."""
    try:
        return json_text(placeholder(decode_json(text)))
    except ValueError:
        return text_placeholder(text)


def _media(media: Media) -> Media:
    told: dict[str, object] = {"media_type": media.media_type}
    if media.data is not None:
        return Media.model_validate({**told, "data": bytes(len(media.data))})
    where = {"url": NOWHERE} if media.url is not None else {"blob_key": media.blob_key}
    return Media.model_validate({**told, **where, "size_bytes": media.size_bytes})

"""What an input says: a text, or text with pictures and documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from pydantic import TypeAdapter, ValidationError

from psych_runtime_core.jsonvalue import Json, json_text
from psych_runtime_core.messages import FilePart, ImagePart, MessageContent, Part, TextPart
from psych_runtime_core.spec.model import InputKind

SPOKEN_KEYS = ("message", "input", "text", "prompt")


def content_of_input(payload: Mapping[str, object]) -> MessageContent:
    """The first text that is not blank, or list of parts, under `SPOKEN_KEYS`; else the compact JSON.

    Of `{}` nothing. A list with anything that is no part, that names a blob, or that says nothing, is JSON
    like any other. Of parts that say something the blank texts are left out: providers refuse them.
    """
    for key in SPOKEN_KEYS:
        said = payload.get(key)
        if isinstance(said, str) and said.strip():
            return said
        parts = _parts(said)
        if parts:
            return parts
    return json_text(payload) if payload else ""


def payload_of(parts: Sequence[object]) -> Mapping[str, Json]:
    """The input that says `parts`, each a part or the JSON of one. Raises `ValueError` for what is none."""
    try:
        said = _adapter().validate_python(tuple(parts))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(token) for token in first["loc"])
        raise ValueError(f"part {place}: {first['msg']}; give TextPart, ImagePart or FilePart") from None
    for part in said:
        fault = _fault_of(part)
        if fault is not None:
            raise ValueError(f"a part {fault}")
    if not _heard(said):
        raise ValueError("the parts say nothing; give a text, a picture or a document")
    plain = _adapter().dump_python(said, mode="json", exclude_none=True)
    return {"message": cast("Json", plain)}


def kind_of_part(part: Part) -> InputKind:
    """What a model must accept to be given this part."""
    if isinstance(part, TextPart):
        return "text"
    if isinstance(part, ImagePart):
        return "image"
    family = part.media.media_type.partition("/")[0]
    return "audio" if family == "audio" else "video" if family == "video" else "file"


def refused_kinds(payload: Mapping[str, object], accepted: Sequence[InputKind]) -> tuple[InputKind, ...]:
    """The kinds of part in an input that are not among `accepted`."""
    content = content_of_input(payload)
    kinds = () if isinstance(content, str) else tuple(kind_of_part(part) for part in content)
    return tuple(dict.fromkeys(kind for kind in kinds if kind not in accepted))


def text_of_content(content: MessageContent) -> str:
    """What people read: the texts, and each picture or document by its kind, type and size."""
    if isinstance(content, str):
        return content
    return "\n".join(_described(part) for part in content)


def _described(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    media = part.media
    name = f" {part.name}" if isinstance(part, FilePart) else ""
    size = "" if media.size_bytes is None else f", {media.size_bytes} bytes"
    return f"[{kind_of_part(part)}{name}: {media.media_type}{size}]"


def _parts(said: object) -> tuple[Part, ...] | None:
    if not isinstance(said, list | tuple) or not said:
        return None
    try:
        parts = _adapter().validate_python(tuple(cast("Sequence[object]", said)))
    except ValidationError:
        return None
    return None if any(map(_fault_of, parts)) else _heard(parts)


def _fault_of(part: Part) -> str | None:
    """Why a part is none that anybody may say."""
    if isinstance(part, TextPart):
        return None
    if part.media.blob_key is not None:
        return "names a blob; give its data, or its url"
    return "has no data; give its bytes, or its url" if part.media.data == b"" else None


def _heard(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Those that say something."""
    return tuple(part for part in parts if not isinstance(part, TextPart) or part.text.strip())


@cache
def _adapter() -> TypeAdapter[tuple[Part, ...]]:
    return TypeAdapter(tuple[Part, ...])

"""What stands in the content of a message: text, or a list of parts of many kinds; and its pictures."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import TypeAlias

from psych_runtime.model.chat.reply.opaque import opaque_of
from psych_runtime.model.chat.reply.reasoning import written
from psych_runtime.model.chat.reply.text import text_of
from psych_runtime.model.shapes import Object, items, members
from psych_runtime_core.messages import Media
from psych_runtime_core.ports.model import (
    MediaDelta,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
)

ContentPiece: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta | MediaDelta | OpaqueDelta

_DATA_URL = re.compile(r"data:([a-zA-Z]+/[a-zA-Z0-9.+-]+)(?:;[^;,]*)*;base64,")
# Type and parameters of a data URL; a regular expression would look for their end through megabytes.
_MAX_HEAD = 1_024
_BLANKS = re.compile(r"\s+")
_SUFFIX = re.compile(r"\.([a-z]+)(?:[?#].*)?\Z", re.DOTALL)
_TYPE_OF_SUFFIX = {
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webp": "image/webp",
}
# A picture by address does not say what it is, and nobody fetches it to see.
_SOME_PICTURE = "image/x-unknown"


def content_pieces(content: object) -> Iterator[ContentPiece]:
    """What `content` says, in its order; parts of a kind that nobody knows are kept as they are."""
    if isinstance(content, str):
        if content:
            yield TextDelta(content)
        return
    for part in items(content) or (content,):
        yield from _part_pieces(part)


def image_pieces(images: object) -> Iterator[ContentPiece]:
    """The pictures of a message that stand beside its content."""
    yield from (_picture("images", image) for image in items(images) if image)


def _part_pieces(part: object) -> Iterator[ContentPiece]:
    known = members(part)
    if not known:
        yield from (TextDelta(text) for text in (text_of(part),) if text)
        return
    match known.get("type"):
        case "thinking":
            yield _thought(known)
        case "image_url":
            yield _picture("content", known)
        case "refusal":
            yield from (RefusalDelta(text) for text in (written(known.get("refusal")),) if text)
        case "text" | "output_text" | None if isinstance(known.get("text"), str):
            yield from (TextDelta(text) for text in (known["text"],) if text)
        case _:
            yield OpaqueDelta("content", opaque_of({"field": "content", "part": known}))


def _thought(part: Object) -> ReasoningDelta:
    """A part of thinking; its mark holds what else it needs to become the same part again."""
    thinking = part.get("thinking")
    extra = {
        key: value for key, value in part.items() if key not in ("type", "thinking") and value is not None
    }
    form = "text" if isinstance(thinking, str) else "parts"
    return ReasoningDelta(written(thinking), opaque_of({"field": "content", "form": form, "extra": extra}))


def _picture(where: str, part: object) -> MediaDelta | OpaqueDelta:
    url = _address(part)
    media = _at_address(url) if url.startswith("https:") else _in_url(url)
    if media is None:
        return OpaqueDelta(where, opaque_of({"field": where, "part": part}))
    return MediaDelta(media)


def _address(part: object) -> str:
    """The URL in a part: its text, or under `image_url` or `url`, a level or two down."""
    for _ in range(3):
        part = members(part).get("image_url") or members(part).get("url") or part
    return part if isinstance(part, str) else ""


def _at_address(url: str) -> Media | None:
    suffix = _SUFFIX.search(url.lower())
    kind = _TYPE_OF_SUFFIX.get(suffix[1] if suffix else "", _SOME_PICTURE)
    return _media(media_type=kind, url=url)


def _in_url(url: str) -> Media | None:
    head = _DATA_URL.match(url, 0, _MAX_HEAD)
    if head is None:
        return None
    try:
        data = b64decode(_BLANKS.sub("", url[head.end() :]), validate=True)
    except (binascii.Error, ValueError):
        return None
    return _media(media_type=head[1].lower(), data=data) if data else None


def _media(**fields: object) -> Media | None:
    try:
        return Media.model_validate(fields)
    except ValueError:
        return None

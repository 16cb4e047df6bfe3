"""What the reply of an HTTP tool is: a value, a text, a file, or an answer that says no."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from psych_runtime.egress.charsets import charset_in, codec_of
from psych_runtime.tools.output import BYTES, File, is_media_type, media_type_of
from psych_runtime_core.errors import NotJson
from psych_runtime_core.jsonvalue import Json, decode_json, freeze

_TEXTS = frozenset(
    {
        "application/x-www-form-urlencoded",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)
_EXTENSION = re.compile(r"[a-z0-9]{1,8}")


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A reply that was read whole; header names in lower case. `leads_to`: the origin of a redirect."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    leads_to: str | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a reply says of its body."""

    media_type: str
    charset: str | None

    @classmethod
    def by(cls, headers: Mapping[str, str]) -> _Stated:
        stated = headers.get("content-type", "")
        return cls(media_type_of(stated), charset_in(stated))

    @property
    def is_json(self) -> bool:
        return self.media_type == "application/json" or self.media_type.endswith("+json")

    @property
    def is_text(self) -> bool:
        return (
            self.media_type.startswith("text/")
            or self.media_type in _TEXTS
            or self.media_type.endswith(("+xml", "+yaml"))
        )


def value_of(reply: HttpReply, tool: str) -> Json | File:
    """The body as a tool's result: JSON, text, None for none, else a file that is named after the tool."""
    if not reply.body or reply.status == HTTPStatus.NO_CONTENT:
        return None
    stated = _Stated.by(reply.headers)
    text = _text(reply.body, stated)
    if text is None:
        return _file(reply.body, stated, tool)
    return _parsed(text) if stated.is_json else text


def excerpt_of(reply: HttpReply) -> str:
    """What the body of an answer that says no reads as."""
    stated = _Stated.by(reply.headers)
    text = _text(reply.body, stated)
    if text is None:
        return f"({len(reply.body)} bytes of {stated.media_type or 'no stated type'})"
    return text


def _text(body: bytes, stated: _Stated) -> str | None:
    """The body as text; None for one that says it is none, or is not what it says."""
    if not (stated.is_json or stated.is_text):
        return None
    codec = codec_of(stated.charset or (json.detect_encoding(body) if stated.is_json else "utf-8"))
    if codec is None:
        return None
    try:
        # The mark of an encoding is no part of a text.
        return body.decode(codec).removeprefix("\ufeff")
    except ValueError:
        return None


def _parsed(text: str) -> Json:
    try:
        return freeze(decode_json(text), surrogates=True)
    except (ValueError, NotJson) as error:
        return {"note": f"The reply says that it is JSON, and cannot be read as such: {error}.", "text": text}


def _file(body: bytes, stated: _Stated, tool: str) -> File:
    media_type = stated.media_type if is_media_type(stated.media_type) else BYTES
    extension = media_type.partition("/")[2]
    named = f"{tool}.{extension}" if _EXTENSION.fullmatch(extension) else tool
    return File(named, media_type, body)

"""How one argument is written into a path, a query, a form or a header; or why it does not fit there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

from psych_runtime_core.jsonvalue import Json, json_text

# Servers that take a header at all take one of this length.
MAX_HEADER = 8_192

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SLASHES = re.compile(r"[/\\]")


class Misfit(ValueError):
    """Why a value cannot stand where it belongs."""


def in_path(value: Json) -> str:
    """One segment, or a part of one; nothing that it holds can end the segment."""
    if value is None:
        raise Misfit("must be given: it stands in the path of the URL")
    text = _scalar(value)
    if text in {"", ".", ".."} or _SLASHES.search(text) or _CONTROLS.search(text):
        raise Misfit("stands in the path of the URL, and may not be empty, . or .., or hold / \\ or controls")
    return quote(_whole(text), safe="")


def in_query(value: Json) -> list[str]:
    """The values of a key, each encoded: of a list several, of null none."""
    return [quote(_whole(text), safe="") for text in _each(value)]


def in_part(value: Json) -> str | None:
    """A part of a value of the query, encoded; None for null, which drops the whole."""
    if isinstance(value, list | tuple):
        raise Misfit("stands amid a value of the query, where no list fits")
    return next(iter(in_query(value)), None)


def query_pairs(name: str, value: Json) -> list[str]:
    """An argument under its own name: of a list the key again and again, of null nothing."""
    return [f"{quote(_whole(name), safe='')}={each}" for each in in_query(value)]


def form_pairs(name: str, value: Json) -> list[str]:
    """As `query_pairs`, in the encoding of forms."""
    return [f"{quote_plus(_whole(name))}={quote_plus(_whole(text))}" for text in _each(value)]


def in_header(value: Json) -> str | None:
    """The text of a header, or a part of one; None for null, which drops the header."""
    if value is None:
        return None
    text = _scalar(value)
    if _CONTROLS.search(text) or not text.isascii():
        raise Misfit("stands in a header, and may hold neither control characters nor any outside ASCII")
    if len(text) > MAX_HEADER:
        raise Misfit(f"stands in a header, and may have at most {MAX_HEADER} characters")
    return text


def _each(value: Json) -> Iterator[str]:
    items = value if isinstance(value, list | tuple) else [value]
    return (_scalar(item) for item in items if item is not None)


def _scalar(value: Json) -> str:
    """Text as it is, anything else as JSON writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | Mapping):
        raise Misfit("must be text, a number, or true or false: anything larger has no place there")
    return json_text(value)


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Misfit("holds half of a surrogate pair, which no URL carries") from None
    return text

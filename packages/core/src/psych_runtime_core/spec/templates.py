"""Texts with `{name}` in them, which arguments fill in: where each name stands, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from psych_runtime_core.spec.urls import BadUrl, UrlParts, parts_of_url

_SLOT = re.compile(r"\{([\w$.-]{1,128})\}")


class BadTemplate(ValueError):
    """A brace that holds no name."""

    def __init__(self) -> None:
        super().__init__("holds a brace that is no {name} of an argument; write %7B and %7D for braces")


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of an argument."""

    name: str


Pieces = tuple[str | Slot, ...]


@dataclass(frozen=True, slots=True)
class QueryPart:
    """One `key=value` of a query, or a key alone."""

    key: str
    value: Pieces | None

    @property
    def names(self) -> tuple[str, ...]:
        return names_in(self.value or ())

    @property
    def literal(self) -> str:
        """What of the value stands in the template itself."""
        return "".join(piece for piece in self.value or () if isinstance(piece, str))


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """A URL whose path segments and query values hold arguments; scheme, host and port are fixed."""

    parts: UrlParts
    segments: tuple[Pieces, ...]
    query: tuple[QueryPart, ...]

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(name for segment in self.segments for name in names_in(segment))

    @property
    def query_names(self) -> tuple[str, ...]:
        return tuple(name for part in self.query for name in part.names)


def pieces_of(text: str) -> Pieces:
    """`text` as its literal pieces and its slots, in order. Raises `BadTemplate`."""
    literals, names = _SLOT.split(text)[::2], _SLOT.split(text)[1::2]
    if any("{" in literal or "}" in literal for literal in literals):
        raise BadTemplate
    found: list[str | Slot] = []
    for at, literal in enumerate(literals):
        found += [literal] if literal else []
        found += [Slot(names[at])] if at < len(names) else []
    return tuple(found)


def names_in(pieces: Iterable[str | Slot]) -> tuple[str, ...]:
    """The names of the slots, in order."""
    return tuple(piece.name for piece in pieces if isinstance(piece, Slot))


def url_template(text: str) -> UrlTemplate:
    """The template that `text` is. Raises `BadUrl` and `BadTemplate`, both `ValueError`."""
    parts = parts_of_url(text)
    segments = tuple(map(pieces_of, parts.path.split("/")[1:]))
    if any(_is_dots(segment) for segment in segments):
        raise BadUrl("holds a segment . or .. in its path: write the path it leads to")
    return UrlTemplate(parts, segments, _query(parts.query))


def _query(text: str) -> tuple[QueryPart, ...]:
    return tuple(_query_part(part) for part in text.split("&") if part)


def _query_part(text: str) -> QueryPart:
    key, equals, value = text.partition("=")
    if names_in(pieces_of(key)):
        raise BadUrl(f"holds a placeholder in {key!r}, a key of its query: only values take one")
    return QueryPart(key, pieces_of(value) if equals else None)


def _is_dots(segment: Pieces) -> bool:
    return len(segment) == 1 and isinstance(segment[0], str) and unquote(segment[0]) in {".", ".."}

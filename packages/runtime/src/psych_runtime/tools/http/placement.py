"""Where each argument of an HTTP tool goes: from arguments to a request, without sending anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from psych_runtime.tools.http.values import (
    Misfit,
    form_pairs,
    in_header,
    in_part,
    in_path,
    in_query,
    query_pairs,
)
from psych_runtime.tools.output import media_type_of
from psych_runtime_core.errors import Violation, pointer
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.spec.http_tool import HttpMethod, HttpTool
from psych_runtime_core.spec.templates import (
    Pieces,
    Slot,
    UrlTemplate,
    names_in,
    pieces_of,
    url_template,
)

# No longer URL is read where it is sent.
MAX_URL = 65_536
FORM = "application/x-www-form-urlencoded"

_WITHOUT_BODY = frozenset({"GET", "DELETE"})
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent, but for the credential and the key; both are added when it is."""

    method: HttpMethod
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """The places of an HTTP tool, read off its templates once."""

    method: HttpMethod
    url: UrlTemplate
    query: tuple[str, ...]
    headers: Mapping[str, Pieces]
    named: frozenset[str]

    @classmethod
    def of(cls, tool: HttpTool) -> Places:
        url = url_template(tool.url)
        headers = {name: pieces_of(value) for name, value in tool.headers.items()}
        in_headers = [name for value in headers.values() for name in names_in(value)]
        in_url = (*url.path_names, *url.query_names)
        query = tuple(name for name in tool.query if name not in in_url)
        named = frozenset((*in_url, *tool.query, *in_headers))
        return cls(tool.method, url, query, headers, named)


def place(places: Places, arguments: Mapping[str, Json]) -> HttpRequest | tuple[Violation, ...]:
    """The request that `arguments` make, or everything that does not fit its place."""
    placing = _Placing(places, arguments)
    request = placing.request()
    if not placing.misfits and not keeps_place(places.url, request.url):
        return (Violation("", "together they make a URL that leads elsewhere, or is too long"),)
    faults = (Violation(pointer((name,)), reason) for name, reason in placing.misfits.items())
    return tuple(faults) or request


def keeps_place(template: UrlTemplate, url: str) -> bool:
    """Whether `url` has the template's scheme, host, port and segments, also for who removes dots from it."""
    parts = urlsplit(url)
    segments = parts.path.split("/")[1:]
    return (
        len(url) <= MAX_URL
        and (parts.scheme, parts.netloc) == (template.parts.scheme.lower(), template.parts.authority)
        and len(segments) == len(template.segments)
        and not any(unquote(segment) in {".", ".."} for segment in segments)
    )


@dataclass
class _Placing:
    places: Places
    arguments: Mapping[str, Json]
    misfits: dict[str, str] = field(default_factory=dict[str, str])

    def request(self) -> HttpRequest:
        places = self.places
        rest = {name: value for name, value in self.arguments.items() if name not in places.named}
        in_body = rest if places.method not in _WITHOUT_BODY else {}
        in_query = (*places.query, *(name for name in rest if name not in in_body))
        query = "&".join(filter(None, (*self._query_of_url(), self._pairs(in_query, query_pairs))))
        url = places.url.parts.origin + self._path() + (query and f"?{query}")
        headers = dict(self._headers())
        if not in_body:
            return HttpRequest(places.method, url, headers)
        media_type = _content_type(headers)
        if media_type is None:
            headers["Content-Type"] = "application/json"
        body = self._pairs(in_body, form_pairs).encode() if media_type == FORM else encode_json(in_body)
        return HttpRequest(places.method, url, headers, body)

    def _path(self) -> str:
        return "".join(f"/{self._segment(segment)}" for segment in self.places.url.segments)

    def _segment(self, pieces: Pieces) -> str:
        return "".join(
            self._written(piece.name, in_path, "") if isinstance(piece, Slot) else piece for piece in pieces
        )

    def _query_of_url(self) -> Iterator[str]:
        for part in self.places.url.query:
            yield from (part.key,) if part.value is None else self._valued(part.key, part.value)

    def _valued(self, key: str, pieces: Pieces) -> list[str]:
        if len(pieces) == 1 and isinstance(pieces[0], Slot):
            nothing: list[str] = []
            return [f"{key}={value}" for value in self._written(pieces[0].name, in_query, nothing)]
        value = self._joined(pieces, in_part)
        return [] if value is None else [f"{key}={value}"]

    def _pairs(self, names: Iterable[str], pairs_of: Callable[[str, Json], list[str]]) -> str:
        """Arguments under their own names."""
        nothing: list[str] = []
        pairs = (self._written(name, partial(pairs_of, name), nothing) for name in names)
        return "&".join(pair for each in pairs for pair in each)

    def _headers(self) -> Iterator[tuple[str, str]]:
        for header, pieces in self.places.headers.items():
            value = self._joined(pieces, in_header)
            if value is not None:
                yield header, value

    def _joined(self, pieces: Pieces, write: Callable[[Json], str | None]) -> str | None:
        """The pieces as one text; None when one of them is null."""
        texts = [
            self._written(piece.name, write, None) if isinstance(piece, Slot) else piece for piece in pieces
        ]
        return None if None in texts else "".join(text for text in texts if text is not None)

    def _written(self, name: str, write: Callable[[Json], T], otherwise: T) -> T:
        """The argument as `write` writes it; a misfit is noted, and `otherwise` stands in its place."""
        try:
            return write(self.arguments.get(name))
        except Misfit as misfit:
            self.misfits.setdefault(name, str(misfit))
            return otherwise


def _content_type(headers: Mapping[str, str]) -> str | None:
    stated = (value for name, value in headers.items() if name.lower() == "content-type")
    return next(map(media_type_of, stated), None)

"""Runs in the order of pages, on a shelf for each thing that queries ask for."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import (
    LOOKED_AT,
    Page,
    Place,
    RunQuery,
    cursor_behind,
    matches,
    open_states,
    place_of,
)
from psych_runtime_core.ports.runs import RunHeader

Shelf = tuple[str, object]
"""What its Runs have in common: a field and its value."""

ALL: Shelf = ("all", None)
OPEN: Shelf = ("open", None)
LINKS = ("root_run_id", "parent_run_id", "continues_run_id", "idempotency_key")


class Shelves:
    """The places of all Runs, oldest first. It reads `headers` and never changes them."""

    def __init__(self, headers: Mapping[RunId, RunHeader]) -> None:
        self._headers = headers
        self._shelves: dict[Shelf, list[Place]] = {}

    def move(self, before: RunHeader | None, after: RunHeader | None) -> None:
        """A Run came, went, or changed what it is found by."""
        were = _shelves_of(before) if before else frozenset[Shelf]()
        are = _shelves_of(after) if after else frozenset[Shelf]()
        if before:
            for shelf in were - are:
                self._take(shelf, _place(before))
        if after:
            for shelf in are - were:
                insort(self._shelves.setdefault(shelf, []), _place(after))

    def page(self, query: RunQuery, cursor: str | None) -> Page[RunHeader]:
        """What matches behind `cursor`, newest first, after a bounded look."""
        behind = place_of(query, cursor) if cursor is not None else None
        found: list[RunHeader] = []
        last: RunHeader | None = None
        for looked_at, header in enumerate(self._newest(query, behind)):
            if last and (len(found) == query.limit or looked_at == LOOKED_AT * query.limit):
                return Page(tuple(found), cursor_behind(query, _place(last)))
            if matches(query, header):
                found.append(header)
            last = header
        return Page(tuple(found))

    def matching(self, query: RunQuery) -> Iterator[RunHeader]:
        """All that match, newest first. Nothing may change before they are read."""
        return (header for header in self._newest(query) if matches(query, header))

    def on(self, field: str, value: object) -> Iterator[RunHeader]:
        """All Runs that have this value."""
        return (self._headers[run_id] for _, run_id in self._shelves.get((field, value), ()))

    def _newest(self, query: RunQuery, behind: Place | None = None) -> Iterator[RunHeader]:
        """The Runs among which all are that match behind a place."""
        places = self._narrowest(query)
        before = [place for place in (behind, _first_at(query.created_before)) if place]
        end = bisect_left(places, min(before)) if before else len(places)
        after = _first_at(query.created_after)
        start = bisect_left(places, after) if after else 0
        for index in range(end - 1, start - 1, -1):
            yield self._headers[places[index][1]]

    def _narrowest(self, query: RunQuery) -> Sequence[Place]:
        if query.run_ids is not None:
            return sorted(
                _place(self._headers[run_id]) for run_id in query.run_ids if run_id in self._headers
            )
        return min((self._shelves.get(shelf, []) for shelf in _shelves_for(query)), key=len)

    def _take(self, shelf: Shelf, place: Place) -> None:
        places = self._shelves[shelf]
        del places[bisect_left(places, place)]
        if not places:
            del self._shelves[shelf]


def _place(header: RunHeader) -> Place:
    return header.created_at, header.run_id


def _first_at(instant: datetime | None) -> Place | None:
    """The place before all others of an instant."""
    return (instant, RunId("")) if instant else None


def _shelves_of(header: RunHeader) -> frozenset[Shelf]:
    links = {(name, value) for name in LINKS if (value := getattr(header, name)) is not None}
    states = {ALL} if header.terminal else {ALL, OPEN}
    return frozenset(states | links | {("tenant", header.scope.tenant)})


def _shelves_for(query: RunQuery) -> set[Shelf]:
    links = {(name, value) for name in ("tenant", *LINKS) if (value := getattr(query, name)) is not None}
    return {ALL, *links, *({OPEN} if open_states(query) else ())}

"""Where a search begins: one range of one index, in its order, whatever else is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, literal, select, tuple_

from psych_runtime_core.ports.keys import key_digest
from psych_runtime_core.ports.queries import RunQuery, open_states
from psych_runtime_core.ports.runs import RunState
from psych_runtime_sql.conditions import condition
from psych_runtime_sql.tables import IS_SETTLED, KEY, RUN, WORK

Place = tuple[int, str]
"""An instant in microseconds, and the Run: what walks are ordered by."""

_NARROW = ("run_ids", "idempotency_key", "root_run_id", "parent_run_id", "continues_run_id")
_CREATED = ("created_after", "created_before")


@dataclass(frozen=True, slots=True)
class Walk:
    """A range, newest first. `covers` are the conditions that hold of all in it.

    `rising`: its order is the oldest first.
    """

    source: FromClause
    instant: ColumnElement[Any]
    range: tuple[ColumnElement[bool], ...] = ()
    covers: frozenset[str] = frozenset()
    rising: bool = False

    def rows(self, behind: Place | None, limit: int) -> Select[Any, Any]:
        """The instant and the id of the Runs in the range behind a place, in its order."""
        run_id = self.source.c.run_id
        order = (self.instant, run_id) if self.rising else (self.instant.desc(), run_id.desc())
        rows = select(self.instant.label("instant"), run_id).select_from(self.source).where(*self.range)
        if behind is not None:
            place, bound = tuple_(self.instant, run_id), tuple_(*map(literal, behind))
            rows = rows.where(place > bound if self.rising else place < bound)
        return rows.order_by(*order).limit(limit)


def newest_first(query: RunQuery) -> Walk:
    """The narrowest range that the query allows, ordered as its pages are."""
    if narrow := _narrow(query):
        return _of_runs(query, narrow)
    if states := open_states(query):
        return _of_open(query, states)
    return _of_runs(query, *({"tenant"} & query.conditions.keys()))


def oldest_settled(query: RunQuery) -> Walk:
    """Settled Runs, those that ended first; as `newest_first` where that is narrower."""
    if "settled_before" not in query.conditions or _narrow(query):
        return newest_first(query)
    within = (IS_SETTLED, condition("settled_before", query))
    return Walk(RUN, RUN.c.settled_at, within, frozenset({"settled_before"}), rising=True)


def _narrow(query: RunQuery) -> str | None:
    """The condition that leaves the fewest Runs, where one leaves few."""
    # Keys are stored hashed with their tenant.
    names = query.conditions.keys() - ({"idempotency_key"} if query.tenant is None else set[str]())
    return next((name for name in _NARROW if name in names), None)


def _of_runs(query: RunQuery, *covered: str) -> Walk:
    names = (*covered, *(name for name in _CREATED if name in query.conditions))
    within = (_within(name, query) for name in names)
    # A key leads to the Run that it was given with, and that one may have been erased since.
    return Walk(RUN, RUN.c.created_at, tuple(within), frozenset(names) - {"idempotency_key"})


def _within(name: str, query: RunQuery) -> ColumnElement[bool]:
    if name == "idempotency_key":
        key = key_digest(str(query.tenant), str(query.idempotency_key))
        holder = select(KEY.c.run_id).where(KEY.c.tenant == literal(query.tenant), KEY.c.key == literal(key))
        return RUN.c.run_id.in_(holder)
    return condition(name, query)


def _of_open(query: RunQuery, states: Sequence[RunState]) -> Walk:
    within: list[ColumnElement[bool]] = [WORK.c.state.in_([literal(state.value) for state in states])]
    if query.tenant is not None:
        within.append(WORK.c.tenant == literal(query.tenant))
    return Walk(WORK, WORK.c.created_at, tuple(within), frozenset({"tenant", "states"}))

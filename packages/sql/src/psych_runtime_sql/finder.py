"""Searches for Runs: pages of one range, with what else must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Dialect, Select, select
from sqlalchemy.sql import ClauseElement

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import LOOKED_AT, Page, RunQuery, cursor_behind, place_of
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_sql.conditions import condition
from psych_runtime_sql.driver import Driver, Row, compiled
from psych_runtime_sql.rows import header_of, instant, micros
from psych_runtime_sql.statements import header_columns
from psych_runtime_sql.tables import RUN, WORK
from psych_runtime_sql.walks import Place, Walk, newest_first


@dataclass(frozen=True, slots=True)
class Search:
    """A walk, what of it is wanted, and how many at once."""

    walk: Walk
    wanted: tuple[ColumnElement[bool], ...]
    limit: int


@dataclass(frozen=True, slots=True)
class Found:
    """Rows in the order of the walk, each with its place behind it; `behind`: there may be more."""

    rows: Sequence[Row]
    behind: Place | None


class Finder:
    """Operations that search, each inside one transaction of the driver it is given."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    async def page(self, driver: Driver, query: RunQuery, cursor: str | None) -> Page[RunHeader]:
        """A page of a query. Raises `ValueError` for a cursor of another one."""
        behind = None if cursor is None else _place(query, cursor)
        found = await self.look(driver, search_of(query, newest_first(query)), header_columns(), behind)
        items = tuple(header_of(row) for row in found.rows)
        if found.behind is None:
            return Page(items)
        at, run_id = found.behind
        return Page(items, cursor_behind(query, (instant(at), RunId(run_id))))

    async def look(
        self, driver: Driver, search: Search, columns: Sequence[ColumnElement[Any]], behind: Place | None
    ) -> Found:
        """What is wanted of the next Runs of a walk: `columns` of `psych_run` and `psych_work`."""
        looked_at = search.limit * LOOKED_AT if search.wanted else search.limit + 1
        walked = search.walk.rows(behind, looked_at)
        rows = await self._fetch(driver, _wanted(search, walked, columns))
        if len(rows) > search.limit:
            page = rows[: search.limit]
            return Found(page, page[-1][-2:])
        last = await self._fetch(driver, walked.offset(looked_at - 1).limit(1))
        return Found(rows, last[0] if last else None)

    async def _fetch(self, driver: Driver, clause: ClauseElement) -> Sequence[Row]:
        return await compiled(clause, self._dialect).fetch(driver, {})


def search_of(query: RunQuery, walk: Walk, *also: ColumnElement[bool]) -> Search:
    """A search for what `query` means along a walk."""
    wanted = (condition(name, query) for name in query.conditions if name not in walk.covers)
    return Search(walk, (*wanted, *also), query.limit)


def _wanted(search: Search, rows: Select[Any, Any], columns: Sequence[ColumnElement[Any]]) -> Select[Any]:
    """The wanted ones of the rows of a walk, one more than asked for, each with its place behind it."""
    walked = rows.subquery("walked")
    place = (walked.c.instant, walked.c.run_id)
    return (
        select(*columns, *place)
        .select_from(
            walked.join(RUN, RUN.c.run_id == walked.c.run_id).outerjoin(WORK, WORK.c.run_id == RUN.c.run_id)
        )
        .where(*search.wanted)
        .order_by(*(place if search.walk.rising else (each.desc() for each in place)))
        .limit(search.limit + 1)
    )


def _place(query: RunQuery, cursor: str) -> Place:
    created_at, run_id = place_of(query, cursor)
    return micros(created_at), run_id

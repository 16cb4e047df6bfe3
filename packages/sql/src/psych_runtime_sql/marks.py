"""Marks: what takes several commits writes one first and takes it out last, so nothing is left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Dialect, bindparam, delete, func, insert, literal, or_, select

from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.json_columns import json_array, members
from psych_runtime_sql.rows import instant, micros
from psych_runtime_sql.tables import MARK, RUN

FINISHED_AT_ONCE = 64
ABANDONED_AFTER = timedelta(days=1)
"""An import or an upload that got no further for so long is nobody's any more."""


class MarkKind(StrEnum):
    """What is under way. The id of a purge and of an import is that of their Run."""

    PURGE = "purge"
    IMPORT = "import"
    UPLOAD = "upload"


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that is under way, or was cut short; `at` is when it last got further."""

    id: str
    kind: MarkKind
    tenant: str
    at: datetime


class Marks:
    """Operations on marks, each inside one transaction of the driver it is given."""

    def __init__(self, dialect: Dialect) -> None:
        columns = (MARK.c.id, MARK.c.kind, MARK.c.tenant, MARK.c.at)
        self._of = compiled(select(*columns).where(MARK.c.id == bindparam("id")), dialect)
        self._insert = compiled(insert(MARK), dialect)
        self._delete = compiled(delete(MARK).where(MARK.c.id == bindparam("of_id")), dialect)
        self._counts = compiled(select(MARK.c.kind, func.count()).group_by(MARK.c.kind), dialect)
        late = or_(MARK.c.kind == literal(MarkKind.PURGE.value), MARK.c.at <= bindparam("abandoned"))
        unfinished = select(*columns).where(late).order_by(MARK.c.at).limit(FINISHED_AT_ONCE)
        self._unfinished = compiled(unfinished, dialect)
        self._purge = compiled(_of_runs(), dialect)

    async def of(self, driver: Driver, mark_id: str) -> Mark | None:
        """The mark of this id."""
        rows = await self._of.fetch(driver, {"id": mark_id})
        return _mark(*rows[0]) if rows else None

    async def put(self, driver: Driver, mark: Mark) -> None:
        """Write a mark, or say that what is under way got further."""
        await self.remove(driver, mark.id)
        row = {"id": mark.id, "kind": mark.kind.value, "tenant": mark.tenant, "at": micros(mark.at)}
        await self._insert.fetch(driver, row)

    async def put_purge(self, driver: Driver, run_ids: Sequence[str], now: datetime) -> None:
        """A mark for each of these Runs, whose headers go."""
        await self._purge.fetch(driver, {"run_ids": json_array(run_ids), "now": micros(now)})

    async def remove(self, driver: Driver, mark_id: str) -> None:
        """Take a mark out: all is done."""
        await self._delete.fetch(driver, {"of_id": mark_id})

    async def unfinished(self, driver: Driver, now: datetime) -> tuple[Mark, ...]:
        """Up to 64 that somebody must finish: purges, and others that are a day old. The oldest first."""
        rows = await self._unfinished.fetch(driver, {"abandoned": micros(now - ABANDONED_AFTER)})
        return tuple(_mark(*row) for row in rows)

    async def counts(self, driver: Driver) -> Mapping[str, int]:
        """How many of each kind there are."""
        return dict(await self._counts.fetch(driver, {}))


def _of_runs() -> Any:
    at: ColumnElement[Any] = bindparam("now")
    named = RUN.c.run_id.in_(members("run_ids"))
    rows = select(RUN.c.run_id, literal(MarkKind.PURGE.value), RUN.c.tenant, at).where(named)
    return insert(MARK).from_select(["id", "kind", "tenant", "at"], rows)


def _mark(mark_id: str, kind: str, tenant: str, at: int) -> Mark:
    return Mark(mark_id, MarkKind(kind), tenant, instant(at))

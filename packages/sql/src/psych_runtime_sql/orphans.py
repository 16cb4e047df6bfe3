"""Logs that no header is of, and that nothing under way accounts for."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Dialect, Select, func, literal, select

from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.tables import ENTRY, MARK, RUN

LOGS_LOOKED_AT = 10_000
"""Whoever asks how a store does waits for them."""


class Orphans:
    """What a restore in parts, or an edit by hand, has left; an import or a purge that was cut has a mark."""

    def __init__(self, dialect: Dialect) -> None:
        self._find = compiled(_without_a_header(), dialect)

    async def find(self, driver: Driver) -> Sequence[str]:
        """The ids of such Runs, among the first 10 000 that have entries."""
        return [run_id for (run_id,) in await self._find.fetch(driver, {})]


def _without_a_header() -> Select[str]:
    # The index is asked for the next id again and again: however long a log is, it costs one step.
    first = select(func.min(ENTRY.c.run_id).label("run_id"), literal(1).label("number"))
    logs = first.cte("logs", recursive=True)
    following = select(func.min(ENTRY.c.run_id)).where(ENTRY.c.run_id > logs.c.run_id).scalar_subquery()
    step = select(following, logs.c.number + 1)
    logs = logs.union_all(step.where(logs.c.run_id.is_not(None), logs.c.number < LOGS_LOOKED_AT))
    has_header = select(RUN.c.run_id).where(RUN.c.run_id == logs.c.run_id).exists()
    is_marked = select(MARK.c.id).where(MARK.c.id == logs.c.run_id).exists()
    return select(logs.c.run_id).where(logs.c.run_id.is_not(None), ~has_header, ~is_marked)

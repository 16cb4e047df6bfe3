"""The open Runs in numbers."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import Dialect, Select, bindparam, case, func, select

from psych_runtime_core.ports.reports import MOST_COUNTED, Counts, StoreStats, store_stats
from psych_runtime_core.ports.runs import OPEN_STATES, RunState
from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.rows import instant, micros
from psych_runtime_sql.tables import WORK


class Stats:
    """Counts, each inside one transaction of the driver it is given."""

    def __init__(self, dialect: Dialect) -> None:
        self._of_all = compiled(_counted(), dialect)
        self._of_one = compiled(_counted(tenant=True), dialect)

    async def of(self, driver: Driver, tenant: str | None, top: int, now: datetime) -> StoreStats:
        """The open Runs of `tenant`, or of all, and the `top` tenants whose ready work is oldest."""
        by_tenant: dict[str, Counts] = {}
        statement = self._of_all if tenant is None else self._of_one
        for state in OPEN_STATES:
            values = {"state": state.value, "tenant": tenant, "now": micros(now), "most": MOST_COUNTED + 1}
            for name, total, due, since in await statement.fetch(driver, values):
                counts = by_tenant.setdefault(name, Counts())
                counts.standing += Counter({(state, True): due, (state, False): total - due})
                if due and state is not RunState.RUNNING:
                    counts.since = min(counts.since or now, instant(since))
        return store_stats(now, by_tenant, top)


def _counted(*, tenant: bool = False) -> Select[Any, int, int, Any]:
    """By tenant: how many Runs are in a state, how many of them are due, and since when one is."""
    also = (WORK.c.tenant == bindparam("tenant"),) if tenant else ()
    rows = (
        select(WORK.c.tenant, WORK.c.ready_at)
        .where(WORK.c.state == bindparam("state"), *also)
        .limit(bindparam("most"))
        .subquery("rows_walked")
    )
    due_at = case((rows.c.ready_at <= bindparam("now"), rows.c.ready_at))
    columns = (rows.c.tenant, func.count(), func.count(due_at), func.min(due_at))
    return select(*columns).group_by(rows.c.tenant)

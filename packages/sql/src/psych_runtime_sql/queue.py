"""Who is claimed next: tenants in turn, and the order inside a tenant."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, islice, zip_longest

from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.store import ClaimFilter
from psych_runtime_sql.driver import Driver, Row, Statement
from psych_runtime_sql.rows import Values, json_array, micros
from psych_runtime_sql.statements import PROMOTED_AT_ONCE, Statements


class Queue:
    """Picks ready Runs. It remembers, for each Worker, the tenant that was served last."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements
        self._last: dict[WorkerId, str] = {}

    async def pick(
        self, driver: Driver, worker_id: WorkerId, limit: int, only: ClaimFilter, now: datetime
    ) -> list[RunId]:
        """Up to `limit` Runs whose `ready_at` has come and that `only` lets through."""
        # Workers that start together begin with different tenants.
        last = self._last.get(worker_id, random.choice(string.ascii_letters + string.digits))
        picked: list[tuple[str, RunId]] = []
        more_due = True
        while more_due and len(picked) < limit:
            more_due = len(await self._sql.promote.fetch(driver, {"now": micros(now)})) == PROMOTED_AT_ONCE
            picked = deal(await self._first(driver, last, limit, only), limit)
        if picked:
            self._last[worker_id] = picked[-1][0]
        return [run_id for _, run_id in picked]

    async def _first(
        self, driver: Driver, last: str, limit: int, only: ClaimFilter
    ) -> dict[str, list[RunId]]:
        """What each tenant would be given first: the tenants behind `last` and around, `limit` at most."""
        first: dict[str, list[RunId]] = {}
        for begin, end in ((last, None), ("", last)):
            tenant: str | None = begin
            while len(first) < limit:
                tenant = await self._value(self._sql.next_tenant, driver, {"behind": tenant})
                if tenant is None or (end is not None and tenant > end):
                    break
                if runs := await self._first_of(driver, tenant, 1, only):
                    first[tenant] = runs
        if len(first) < limit:
            each = limit - len(first) + 1
            return {tenant: await self._first_of(driver, tenant, each, only) for tenant in first}
        return first

    async def _first_of(self, driver: Driver, tenant: str, limit: int, only: ClaimFilter) -> list[RunId]:
        """A tenant's first Runs. A Version that is left out is stepped over, however many Runs it has."""
        values: Values = {"tenant": tenant, "limit": limit, "exclude": json_array(tuple(only.exclude))}
        found: list[Row] = []
        version: str | None = ""
        while version := await self._value(self._sql.next_version, driver, {**values, "behind": version}):
            if version not in only.skip_versions:
                found += await self._sql.pick.fetch(driver, {**values, "version_hash": version})
        found.sort(key=lambda row: (-row[0], *row[1:]))
        return [run_id for _, _, run_id in found[:limit]]

    async def _value(self, statement: Statement, driver: Driver, values: Values) -> str | None:
        rows = await statement.fetch(driver, values)
        return rows[0][0] if rows else None


def deal(first: Mapping[str, Sequence[RunId]], limit: int) -> list[tuple[str, RunId]]:
    """One Run of each tenant, then the next one of each, `limit` in all."""
    hands = ([(tenant, run_id) for run_id in runs] for tenant, runs in first.items())
    return list(islice(filter(None, chain.from_iterable(zip_longest(*hands))), limit))

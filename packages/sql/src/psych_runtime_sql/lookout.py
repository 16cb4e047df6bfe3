"""What a watch asks of the database."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from psych_runtime_core.ids import RunId
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.json_columns import json_array
from psych_runtime_sql.rows import micros
from psych_runtime_sql.statements import Statements
from psych_runtime_sql.texts import Tails, Texts


class Lookout:
    """The questions behind a hint."""

    def __init__(self, statements: Statements, texts: Texts) -> None:
        self._sql, self._texts = statements, texts

    async def heads(self, driver: Driver, run_ids: Collection[RunId]) -> dict[RunId, int]:
        """The seq at which the log of each Run ends; a Run that is not stored is left out."""
        if not run_ids:
            return {}
        return dict(await self._sql.heads.fetch(driver, {"run_ids": json_array(tuple(run_ids))}))

    async def tails(self, driver: Driver, run_ids: Collection[RunId], now: datetime) -> Tails:
        """Where the live texts of each Run end; a Run that has none is left out."""
        return await self._texts.tails(driver, run_ids, now) if run_ids else {}

    async def has_ready(self, driver: Driver, now: datetime) -> bool:
        """Whether any Run could be claimed."""
        return bool((await self._sql.has_ready.fetch(driver, {"now": micros(now)}))[0][0])

    async def has_ready_of(self, driver: Driver, tenant: str, now: datetime) -> bool:
        """Whether the tenant has ready work, or whether any tenant's is due that was not promoted yet.

        Then a hint of it may be false.
        """
        values = {"tenant": tenant, "now": micros(now)}
        return bool((await self._sql.has_ready_of.fetch(driver, values))[0][0])

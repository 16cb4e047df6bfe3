"""What a watch asks of the database."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from psych_runtime_core.ids import RunId
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.rows import json_array, micros
from psych_runtime_sql.statements import Statements


class Lookout:
    """The questions behind a hint."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def heads(self, driver: Driver, run_ids: Collection[RunId]) -> dict[RunId, int]:
        """The seq at which the log of each Run ends; a Run that is not stored is left out."""
        if not run_ids:
            return {}
        return dict(await self._sql.heads.fetch(driver, {"run_ids": json_array(tuple(run_ids))}))

    async def has_ready(self, driver: Driver, now: datetime) -> bool:
        """Whether any Run could be claimed."""
        return bool((await self._sql.has_ready.fetch(driver, {"now": micros(now)}))[0][0])

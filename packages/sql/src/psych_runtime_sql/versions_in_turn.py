"""The Versions of a tenant that have ready work: all of them, or so many at a time in turn."""

from __future__ import annotations

from collections.abc import Collection

from psych_runtime_core.ids import VersionHash
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.statements import Statements

LOOKED_AT_ONCE = 64


class VersionsInTurn:
    """It remembers where it stopped, for each tenant that has more than are looked at at once."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements
        self._stopped: dict[str, str] = {}

    async def of(self, driver: Driver, tenant: str, left_out: Collection[VersionHash]) -> list[VersionHash]:
        """Up to 64 Versions, those behind the last stop first. What is left out is stepped over."""
        start = self._stopped.pop(tenant, "")
        found = await self._between(driver, tenant, start, None, left_out)
        if len(found) < LOOKED_AT_ONCE and start:
            found += await self._between(driver, tenant, "", start, left_out)
        if len(found) >= LOOKED_AT_ONCE:
            del found[LOOKED_AT_ONCE:]
            self._stopped[tenant] = found[-1]
        return found

    async def _between(
        self, driver: Driver, tenant: str, behind: str, end: str | None, left_out: Collection[VersionHash]
    ) -> list[VersionHash]:
        found: list[VersionHash] = []
        while len(found) < LOOKED_AT_ONCE:
            rows = await self._sql.next_version.fetch(driver, {"tenant": tenant, "behind": behind})
            if not rows or (end is not None and rows[0][0] > end):
                break
            behind = rows[0][0]
            if behind not in left_out:
                found.append(VersionHash(behind))
        return found

"""Versions, by their hash."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from psych_runtime_core.errors import VersionNotFound
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.ports.checks import check_version
from psych_runtime_core.version import Version
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.rows import micros
from psych_runtime_sql.statements import Statements


class Versions:
    """Operations on Versions, each inside one transaction of the driver it is given."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def put(self, driver: Driver, version: Version, now: datetime) -> Outcome[Version]:
        """What is stored: `version`, stamped, or what another writer stored before.

        Raises `EntryTooLarge`.
        """
        stored = await self._find(driver, version.hash)
        if stored is None:
            stored = replace(version, published_at=now)
            body = stored.encode()
            check_version(body)
            row = {"hash": version.hash, "body": body, "published_at": micros(now)}
            await self._sql.insert_version.fetch(driver, row)
        return Outcome(stored)

    async def get(self, driver: Driver, version_hash: VersionHash) -> Version:
        """The Version. Raises `VersionNotFound`."""
        stored = await self._find(driver, version_hash)
        if stored is None:
            raise VersionNotFound(version_hash)
        return stored

    async def _find(self, driver: Driver, version_hash: VersionHash) -> Version | None:
        rows = await self._sql.version.fetch(driver, {"hash": version_hash})
        return Version.decode(rows[0][0]) if rows else None

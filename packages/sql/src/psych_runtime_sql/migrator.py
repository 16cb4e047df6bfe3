"""Migrations: frozen SQL, applied in order, one transaction each, and written down in a ledger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Literal, Protocol

from sqlalchemy import Dialect, insert, select

from psych_runtime_core.errors import NotMigrated, StoreError
from psych_runtime_core.ports.reports import MigrationReport, Schema
from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.rows import micros
from psych_runtime_sql.tables import MIGRATION

Phase = Literal["pre", "post"]
_NAME = re.compile(r"(?P<number>\d{4})_(?P<phase>pre|post)_[a-z0-9_]+")


class MigrationDriver(Driver, Protocol):
    """A connection that is in no transaction."""

    async def has_ledger(self) -> bool:
        """Whether the table of the ledger exists."""
        ...

    def exclusive(self) -> AbstractAsyncContextManager[None]:
        """A transaction that only one process is in at a time: committed at its end, else rolled back."""
        ...


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. Its text never changes once it is released."""

    number: int
    name: str
    phase: Phase
    sql: str

    @property
    def checksum(self) -> str:
        return sha256(self.sql.encode()).hexdigest()

    @property
    def statements(self) -> tuple[str, ...]:
        """Its statements: each ends with a semicolon at the end of a line."""
        return tuple(filter(None, map(str.strip, self.sql.split(";\n"))))


def migrations_of(dialect: str) -> tuple[Migration, ...]:
    """All migrations for a dialect, in order."""
    found: list[Migration] = []
    for file in (files("psych_runtime_sql") / "migrations" / dialect).iterdir():
        name = file.name.removesuffix(".sql")
        if match := _NAME.fullmatch(name):
            phase: Phase = "pre" if match["phase"] == "pre" else "post"
            found.append(Migration(int(match["number"]), name, phase, file.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


@dataclass(frozen=True, slots=True)
class Applied:
    """A row of the ledger."""

    number: int
    name: str
    phase: str
    checksum: str


Ledger = Mapping[int, Applied]


class Migrator:
    """Brings a schema up to what this release knows, and tells whether it is."""

    def __init__(self, dialect: Dialect, migrations: Sequence[Migration] | None = None) -> None:
        self._migrations = migrations_of(dialect.name) if migrations is None else tuple(migrations)
        columns = (MIGRATION.c.number, MIGRATION.c.name, MIGRATION.c.phase, MIGRATION.c.checksum)
        self._read = compiled(select(*columns).order_by(MIGRATION.c.number), dialect)
        self._note = compiled(insert(MIGRATION), dialect)

    @property
    def level(self) -> int:
        """The schema level of this release."""
        return max((migration.number for migration in self._migrations), default=0)

    async def check(self, driver: MigrationDriver) -> None:
        """Raise `NotMigrated` unless this release can run on the schema.

        It runs with or without what `post` removes, and on a newer `pre`, but on no newer `post`.
        """
        ledger = await self._ledger(driver)
        known = {migration.number for migration in self._migrations}
        absent = [migration.number for migration in self._pending(ledger, "pre")]
        newer = [each.number for each in ledger.values() if each.phase == "post" and each.number not in known]
        if newer:
            raise NotMigrated(max(newer), self.level)
        if absent:
            # As far as it is whole: what was applied behind a gap is no level.
            whole = [number for number in ledger if number < absent[0]]
            raise NotMigrated(max(whole, default=0), self.level)

    async def schema(self, driver: MigrationDriver) -> Schema:
        """How the schema stands to this release. Raises `StoreError` naming a changed migration."""
        ledger = await self._ledger(driver)
        if not ledger:
            return "none"
        if max(ledger) > self.level:
            return "newer"
        return "pending" if self._pending(ledger, "post") else "current"

    async def migrate(
        self, driver: MigrationDriver, phase: Phase, now: datetime, *, plan: bool
    ) -> MigrationReport:
        """Apply what is pending: of `pre` only that, of `post` all. `plan` only reports.

        Raises `StoreError` naming a migration that was applied with another text.
        """
        before = await self._ledger(driver)
        applied: list[str] = []
        for migration in () if plan else self._pending(before, phase):
            if await self._apply(driver, migration, now):
                applied.append(migration.name)
        after = await self._ledger(driver)
        pending = tuple(migration.name for migration in self._pending(after, "post"))
        return MigrationReport(max(before, default=0), max(after, default=0), tuple(applied), pending)

    async def _apply(self, driver: MigrationDriver, migration: Migration, now: datetime) -> bool:
        async with driver.exclusive():
            # Another starter may have applied it while this one waited.
            if migration.number in await self._ledger(driver):
                return False
            for statement in migration.statements:
                await driver.fetch(statement)
            row = {
                "number": migration.number,
                "name": migration.name,
                "phase": migration.phase,
                "checksum": migration.checksum,
                "applied_at": micros(now),
                "release": version("psych-runtime-sql"),
            }
            await self._note.fetch(driver, row)
        return True

    async def _ledger(self, driver: MigrationDriver) -> Ledger:
        if not await driver.has_ledger():
            return {}
        ledger = [Applied(*row) for row in await driver.fetch(self._read.sql)]
        self._refuse_changed(ledger)
        return {each.number: each for each in ledger}

    def _refuse_changed(self, ledger: Iterable[Applied]) -> None:
        known = {migration.number: migration for migration in self._migrations}
        for each in ledger:
            migration = known.get(each.number)
            if migration is not None and migration.checksum != each.checksum:
                raise StoreError(
                    f"migration {each.name} was applied with another text than this release has: checksum"
                    f" {each.checksum[:12]}, not {migration.checksum[:12]}; use the release that applied it"
                )

    def _pending(self, ledger: Ledger, phase: Phase) -> list[Migration]:
        wanted = ("pre",) if phase == "pre" else ("pre", "post")
        return [each for each in self._migrations if each.phase in wanted and each.number not in ledger]

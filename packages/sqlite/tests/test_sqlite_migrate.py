"""Migrating a file, from several processes at once too."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from packages.sqlite.tests.sqlite_processes import children
from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import RUN, WORKER, admit
from psych_runtime_core.errors import NotMigrated, StoreError
from psych_runtime_core.ports.reports import MigrationReport
from psych_runtime_sql.migrator import Migrator, migrations_of
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.connection import SQLiteDriver

NAMES = tuple(migration.name for migration in migrations_of("sqlite"))
LEVEL = len(NAMES)


def change(path: Path, sql: str) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(sql)
    connection.close()


async def test_eight_starters_at_once_all_succeed(path: Path) -> None:
    stores = [SQLiteStore(path) for _ in range(8)]
    reports = await asyncio.gather(*(store.migrate() for store in stores))
    assert all(report.to == LEVEL and not report.pending for report in reports)
    assert sorted(name for report in reports for name in report.applied) == sorted(NAMES)
    for number, store in enumerate(stores):
        await admit(store, f"run_{number}")
        await store.close()


@pytest.mark.parametrize("level", range(1, LEVEL + 1))
async def test_eight_starters_at_once_go_on_from_any_level(path: Path, level: int) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    older = Migrator(sqlite_dialect(), migrations_of("sqlite")[:level])
    await older.migrate(SQLiteDriver(connection), "pre", START, plan=False)
    connection.close()
    stores = [SQLiteStore(path) for _ in range(8)]
    reports = await asyncio.gather(*(store.migrate() for store in stores))
    assert {report.to for report in reports} == {LEVEL}
    assert sorted(name for report in reports for name in report.applied) == sorted(NAMES[level:])
    for number, store in enumerate(stores):
        await admit(store, f"run_{number}")
        await store.close()


async def test_four_processes_at_once_all_succeed(path: Path) -> None:
    with children(*(("start", path, number) for number in range(4))) as starters:
        assert [starter.line() for starter in starters] == ["ready"] * 4
        for starter in starters:
            starter.say("go")
        applied = [starter.finish() for starter in starters]
    assert sum(int(count) for (count,) in applied) == LEVEL


async def test_a_level_is_reported_before_and_after(path: Path) -> None:
    async with SQLiteStore(path) as store:
        assert await store.migrate(plan=True) == MigrationReport(0, 0, (), NAMES)
        assert await store.migrate() == MigrationReport(0, LEVEL, NAMES)
        assert await store.migrate("post") == MigrationReport(LEVEL, LEVEL)
        assert await store.migrate(plan=True) == MigrationReport(LEVEL, LEVEL)


async def test_a_store_that_was_opened_too_early_works_once_it_is_migrated(path: Path) -> None:
    async with SQLiteStore(path) as early, SQLiteStore(path) as store:
        with pytest.raises(NotMigrated):
            await early.get_run(RUN)
        with pytest.raises(NotMigrated):
            await admit(early)
        await store.migrate()
        assert (await admit(early)).run_id == RUN


async def test_a_changed_migration_is_named(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()
    change(path, "UPDATE psych_migration SET checksum = 'other'")
    async with SQLiteStore(path) as store:
        for call in (store.get_run(RUN), admit(store), store.migrate()):
            with pytest.raises(StoreError, match="0001_pre_runs was applied with another text"):
                await call


async def test_a_newer_schema_asks_for_a_newer_release(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()
    change(path, "INSERT INTO psych_migration VALUES (7, '0007_post_x', 'post', '', 0, '9')")
    async with SQLiteStore(path) as store:
        for call in (store.get_run(RUN), admit(store), store.claim(WORKER)):
            with pytest.raises(NotMigrated, match="upgrade psych-runtime") as caught:
                await call
            assert (caught.value.found, caught.value.needed) == (7, LEVEL)


async def test_a_table_that_a_later_release_removed_asks_for_that_release(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()
        await admit(store)
        change(path, "INSERT INTO psych_migration VALUES (7, '0007_post_x', 'post', '', 0, '9')")
        change(path, "DROP TABLE psych_key")
        with pytest.raises(NotMigrated, match="upgrade psych-runtime") as caught:
            await admit(store, "other", idempotency_key="order")
        assert (caught.value.found, caught.value.needed) == (7, LEVEL)


async def test_a_table_that_somebody_else_removed_is_named(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()
        change(path, "DROP TABLE psych_key")
        with pytest.raises(StoreError, match="no such table: psych_key"):
            await admit(store, idempotency_key="order")


async def test_a_starter_killed_at_any_statement_leaves_a_level_from_which_the_next_one_completes(
    tmp_path: Path,
) -> None:
    killed = 0
    while True:
        path = tmp_path / f"{killed}.db"
        with children(("migrate_until_killed", path, killed)) as (starter,):
            if starter.rest() == ["done"]:
                break
        async with SQLiteStore(path, synchronous="normal") as store:
            report = await store.migrate()
            assert (*NAMES[: report.from_], *report.applied) == NAMES
            await admit(store)
        killed += 1
    assert killed > 20, "it was killed at every table and every index"

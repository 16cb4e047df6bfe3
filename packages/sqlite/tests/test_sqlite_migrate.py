"""Migrating a file, from several processes at once too."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from packages.sqlite.tests.sqlite_processes import children
from psych_runtime_core.errors import NotMigrated, StoreError
from psych_runtime_core.ports.store import MigrationReport
from psych_runtime_sqlite import SQLiteStore
from tests.stores.suite.scenes import RUN, WORKER, admit

NAMES = ("0001_pre_runs",)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "psych.db"


def change(path: Path, sql: str) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(sql)
    connection.close()


async def test_eight_starters_at_once_all_succeed(path: Path) -> None:
    stores = [SQLiteStore(path) for _ in range(8)]
    reports = await asyncio.gather(*(store.migrate() for store in stores))
    assert all(report.to == 1 and not report.pending for report in reports)
    assert sorted(report.applied for report in reports) == [()] * 7 + [NAMES]
    for number, store in enumerate(stores):
        await admit(store, f"run_{number}")
        await store.close()


async def test_four_processes_at_once_all_succeed(path: Path) -> None:
    with children(*(("start", path, number) for number in range(4))) as starters:
        assert [starter.line() for starter in starters] == ["ready"] * 4
        for starter in starters:
            starter.say("go")
        applied = [starter.finish() for starter in starters]
    assert sorted(applied) == [["0"]] * 3 + [["1"]]


async def test_a_level_is_reported_before_and_after(path: Path) -> None:
    async with SQLiteStore(path) as store:
        assert await store.migrate(plan=True) == MigrationReport(0, 0, (), NAMES)
        assert await store.migrate() == MigrationReport(0, 1, NAMES)
        assert await store.migrate("post") == MigrationReport(1, 1)
        assert await store.migrate(plan=True) == MigrationReport(1, 1)


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
            assert (caught.value.found, caught.value.needed) == (7, 1)


async def test_a_table_that_is_gone_is_not_migrated(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()
        await admit(store)
        change(path, "DROP TABLE psych_key")
        with pytest.raises(NotMigrated):
            await admit(store, "other", idempotency_key="order")

"""What `check` finds, whatever state the file is in."""

import os
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime.testing.clock import START
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ports.reports import StoreCheck
from psych_runtime_sql.migrator import Migrator, migrations_of
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.connection import SQLiteDriver


@pytest.fixture(autouse=True)
def sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of SQLite with nothing wrong with it."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 51, 3))


async def migrated(path: Path) -> Path:
    async with SQLiteStore(path) as store:
        await store.migrate()
    return path


async def check(path: Path, *, read_only: bool = False) -> StoreCheck:
    async with SQLiteStore(path, read_only=read_only) as store:
        return await store.check()


def change(path: Path, sql: str) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(sql)
    connection.close()


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_store_that_is_well(path: Path, *, read_only: bool) -> None:
    found = await check(await migrated(path), read_only=read_only)
    assert (found.backend, found.schema, found.push, found.durability) == ("sqlite", "current", True, "full")
    assert found.server_version == sqlite3.sqlite_version
    assert found.warnings == ()
    assert 0 < found.latency_seconds < 2


async def test_a_file_that_is_not_there_has_no_schema_and_is_not_made(path: Path, tmp_path: Path) -> None:
    found = await check(path)
    assert (found.schema, found.warnings) == ("none", ())
    assert os.listdir(tmp_path) == []


async def test_a_file_of_an_older_release_is_pending(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    first = Migrator(sqlite_dialect(), migrations_of("sqlite")[:1])
    await first.migrate(SQLiteDriver(connection), "pre", START, plan=False)
    connection.close()
    assert (await check(path)).schema == "pending"


async def test_a_file_of_a_later_release_is_newer(path: Path) -> None:
    change(await migrated(path), "INSERT INTO psych_migration VALUES (7, '0007_pre_x', 'pre', '', 0, '9')")
    assert (await check(path)).schema == "newer"


@pytest.fixture
def foreign(path: Path) -> Path:
    """A file that SQLite did not make."""
    path.write_bytes(b"no database, " * 1_000)
    return path


async def test_a_file_that_is_none_of_sqlite_is_a_warning(foreign: Path) -> None:
    found = await check(foreign)
    assert found.schema == "none"
    assert "is no SQLite database" in found.about("open")[0]


async def test_a_changed_migration_is_a_warning(path: Path) -> None:
    change(await migrated(path), "UPDATE psych_migration SET checksum = 'other' WHERE number = 1")
    assert "0001_pre_runs was applied with another text" in (await check(path)).about("open")[0]


async def test_another_journal_mode_is_a_warning(path: Path) -> None:
    connection = sqlite3.connect(await migrated(path))
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    found = await check(path)
    assert found.schema == "current"
    assert "not WAL" in found.about("durability")[0]


async def test_marks_are_counted_by_kind(path: Path) -> None:
    await migrated(path)
    for mark, kind in (("a", "purge"), ("b", "purge"), ("c", "upload")):
        change(path, f"INSERT INTO psych_mark VALUES ('{mark}', '{kind}', 'acme', 0)")
    (warning,) = (await check(path)).about("leftovers")
    assert "2 of purge, 1 of upload" in warning


async def test_entries_without_a_run_are_named(path: Path) -> None:
    await migrated(path)
    for run_id in ("run_a", "run_b", "run_c", "run_d", "run_e"):
        for seq in (1, 2):
            change(path, f"INSERT INTO psych_entry VALUES ('{run_id}', {seq}, 'x', 0, 0, x'7b7d', x'00')")
    change(path, "INSERT INTO psych_mark VALUES ('run_b', 'import', 'acme', 0)")
    marks, orphans = (await check(path)).about("leftovers")
    assert "1 of import" in marks
    assert orphans.startswith("entries without a Run: run_a, run_c, run_d and 1 more; ")


@pytest.mark.parametrize(
    ("version", "warns"),
    [
        pytest.param((3, 51, 2), True, id="3.51.2"),
        pytest.param((3, 51, 3), False, id="3.51.3"),
        pytest.param((3, 50, 6), True, id="3.50.6"),
        pytest.param((3, 50, 7), False, id="3.50.7"),
        pytest.param((3, 44, 5), True, id="3.44.5"),
        pytest.param((3, 44, 6), False, id="3.44.6"),
        pytest.param((3, 40, 1), True, id="3.40.1"),
        pytest.param((3, 45, 9), True, id="3.45.9"),
        pytest.param((3, 52, 0), False, id="3.52.0"),
        pytest.param((4, 0, 0), False, id="4.0.0"),
    ],
)
async def test_a_release_that_can_corrupt_a_file_is_a_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], *, warns: bool
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    warnings = (await check(await migrated(path))).about("library")
    assert [f"SQLite {'.'.join(map(str, version))} can corrupt" in each for each in warnings] == [
        True
    ] * warns


async def test_a_closed_store_is_not_asked(path: Path) -> None:
    store = SQLiteStore(path)
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.check()

"""Migrations: applied once and in order, seen whole or not at all."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Generator
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime.testing.clock import START
from psych_runtime_core.errors import NotMigrated, StoreError
from psych_runtime_core.ports.reports import MigrationReport
from psych_runtime_sql.migrator import Migration, Migrator, Phase, migrations_of
from psych_runtime_sqlite.connection import SQLiteDriver

T = TypeVar("T")

FIRST = migrations_of("sqlite")[0]
SECOND = Migration(2, "0002_pre_colour", "pre", "ALTER TABLE psych_run ADD COLUMN colour TEXT;\n")
THIRD = Migration(
    3,
    "0003_post_tidy",
    "post",
    "CREATE TABLE one (a);\n\nCREATE INDEX two ON one (a);\nDROP TABLE psych_key;\n",
)
FOURTH = Migration(4, "0004_pre_more", "pre", "CREATE TABLE three (a);\n")
ALL = (FIRST, SECOND, THIRD, FOURTH)


@pytest.fixture
def database() -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def run(operation: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(operation)


def migrate(
    database: sqlite3.Connection, *migrations: Migration, phase: Phase = "pre", plan: bool = False
) -> MigrationReport:
    migrator = Migrator(sqlite_dialect(), migrations)
    return run(migrator.migrate(SQLiteDriver(database), phase, START, plan=plan))


def check(database: sqlite3.Connection, *migrations: Migration) -> None:
    run(Migrator(sqlite_dialect(), migrations).check(SQLiteDriver(database)))


def tables(database: sqlite3.Connection) -> set[str]:
    return {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_the_migrations_that_are_shipped_are_numbered_without_gaps() -> None:
    shipped = migrations_of("sqlite")
    assert [migration.number for migration in shipped] == list(range(1, len(shipped) + 1))
    assert all(
        migration.name.startswith(f"{migration.number:04}_{migration.phase}_") for migration in shipped
    )


def test_pre_applies_what_new_code_needs_and_leaves_the_rest(database: sqlite3.Connection) -> None:
    report = migrate(database, *ALL)
    assert report == MigrationReport(0, 4, (FIRST.name, SECOND.name, FOURTH.name), (THIRD.name,))
    assert "psych_key" in tables(database)
    assert "three" in tables(database)


def test_post_applies_all_in_order(database: sqlite3.Connection) -> None:
    report = migrate(database, *ALL, phase="post")
    assert report == MigrationReport(0, 4, tuple(migration.name for migration in ALL))
    assert not {"psych_key"} & tables(database)


def test_what_is_applied_is_applied_once(database: sqlite3.Connection) -> None:
    migrate(database, FIRST)
    assert migrate(database, FIRST, SECOND) == MigrationReport(1, 2, (SECOND.name,))
    assert migrate(database, FIRST, SECOND) == MigrationReport(2, 2)


def test_a_plan_only_reports(database: sqlite3.Connection) -> None:
    assert migrate(database, *ALL, plan=True) == MigrationReport(0, 0, (), tuple(each.name for each in ALL))
    assert tables(database) == set()


def test_the_ledger_tells_when_what_was_applied(database: sqlite3.Connection) -> None:
    migrate(database, FIRST)
    ledger = database.execute(
        "SELECT number, name, phase, checksum, applied_at FROM psych_migration"
    ).fetchall()
    assert ledger == [(1, FIRST.name, "pre", FIRST.checksum, int(START.timestamp() * 1_000_000))]


def test_a_migration_that_was_changed_is_named(database: sqlite3.Connection) -> None:
    migrate(database, FIRST, SECOND)
    changed = replace(SECOND, sql="ALTER TABLE psych_run ADD COLUMN color TEXT;\n")
    for use in (migrate, check):
        with pytest.raises(StoreError, match="0002_pre_colour was applied with another text"):
            use(database, FIRST, changed)


@pytest.mark.parametrize("statement", range(4))
def test_a_migration_that_is_cut_short_leaves_the_level_before(
    database: sqlite3.Connection, statement: int
) -> None:
    migrate(database, FIRST)
    before = tables(database)
    statements = [f"{each};\n" for each in THIRD.statements]
    statements.insert(statement, "SELECT no_such_function();\n")
    with pytest.raises(sqlite3.OperationalError, match="no_such_function"):
        migrate(database, FIRST, replace(THIRD, sql="".join(statements)), phase="post")
    assert not database.in_transaction
    assert tables(database) == before
    assert migrate(database, FIRST, THIRD, phase="post").applied == (THIRD.name,)


# --- on which schemas a release runs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("applied", "phase", "known"),
    [
        pytest.param((FIRST,), "pre", (FIRST,), id="its own"),
        pytest.param((FIRST, SECOND), "pre", (FIRST,), id="a newer pre"),
        pytest.param((FIRST, SECOND, THIRD), "pre", (FIRST, SECOND, THIRD), id="a pending post"),
        pytest.param((FIRST, SECOND, THIRD), "post", (FIRST, SECOND, THIRD), id="an applied post"),
    ],
)
def test_a_release_runs_on(
    database: sqlite3.Connection, applied: tuple[Migration, ...], phase: Phase, known: tuple[Migration, ...]
) -> None:
    migrate(database, *applied, phase=phase)
    check(database, *known)


@pytest.mark.parametrize(
    ("applied", "known", "levels", "cure"),
    [
        pytest.param((), (FIRST,), (0, 1), "migrate", id="no schema"),
        pytest.param((FIRST,), (FIRST, SECOND), (1, 2), "migrate", id="an older one"),
        pytest.param((FIRST, FOURTH), ALL, (1, 4), "migrate", id="one with a gap"),
        pytest.param(
            (FIRST,), (FIRST, THIRD, FOURTH), (1, 4), "migrate", id="one with a post before what is missing"
        ),
        pytest.param((FIRST, SECOND, THIRD), (FIRST, SECOND), (3, 2), "upgrade", id="a newer post"),
    ],
)
def test_a_release_does_not_run_on(
    database: sqlite3.Connection,
    applied: tuple[Migration, ...],
    known: tuple[Migration, ...],
    levels: tuple[int, int],
    cure: str,
) -> None:
    migrate(database, *applied, phase="post")
    with pytest.raises(NotMigrated, match=cure) as caught:
        check(database, *known)
    assert (caught.value.found, caught.value.needed) == levels

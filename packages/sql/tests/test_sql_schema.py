"""The schema that migrations leave is the one the statements are written for, and its indexes are used."""

import asyncio
import sqlite3
from collections.abc import Generator

import pytest
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from psych_runtime.testing.clock import START
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_sql.driver import Statement
from psych_runtime_sql.migrator import Migrator
from psych_runtime_sql.statements import Statements
from psych_runtime_sql.tables import METADATA
from psych_runtime_sqlite.connection import SQLiteDriver

DIALECT = sqlite_dialect(paramstyle="qmark")
SQL = Statements(DIALECT)


@pytest.fixture
def database() -> Generator[sqlite3.Connection]:
    """A database in memory, migrated."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    asyncio.run(Migrator(DIALECT).migrate(SQLiteDriver(connection), "post", START, plan=False))
    yield connection
    connection.close()


def normal(sql: str) -> str:
    """A definition without what only readers see."""
    return "".join(sql.replace('"', "").split())


def test_the_migrated_schema_equals_the_metadata(database: sqlite3.Connection) -> None:
    rows = database.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    migrated = {name: normal(sql) for name, sql in rows}
    tables = METADATA.tables.values()
    stated = {table.name: normal(str(CreateTable(table).compile(dialect=DIALECT))) for table in tables} | {
        str(index.name): normal(str(CreateIndex(index).compile(dialect=DIALECT)))
        for table in tables
        for index in table.indexes
    }
    assert migrated == stated


def test_every_table_is_strict(database: sqlite3.Connection) -> None:
    tables = database.execute("SELECT strict FROM pragma_table_list WHERE name LIKE 'psych_%'").fetchall()
    assert tables == [(1,)] * len(METADATA.tables)


@pytest.mark.parametrize("state", TerminalState)
def test_every_terminal_state_may_be_stored(database: sqlite3.Connection, state: TerminalState) -> None:
    insert = (
        "INSERT INTO psych_run (run_id, tenant, labels, name, request, priority, root_run_id,"
        " delegation_depth, created_at, erased, terminal)"
        " VALUES (?, 't', '{}', 'n', x'00', 0, 'r', 0, 0, 0, ?)"
    )
    database.execute(insert, (state, state.value))
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        database.execute(insert, ("other", "finished"))


@pytest.mark.parametrize(
    ("statement", "uses"),
    [
        pytest.param(SQL.header, {"psych_run": "PRIMARY KEY", "psych_work": "PRIMARY KEY"}, id="header"),
        pytest.param(SQL.headers, {"psych_run": "PRIMARY KEY", "psych_work": "PRIMARY KEY"}, id="headers"),
        pytest.param(SQL.heads, {"psych_run": "PRIMARY KEY", "psych_work": "PRIMARY KEY"}, id="heads"),
        pytest.param(SQL.extend, {"psych_work": "PRIMARY KEY"}, id="extend"),
        pytest.param(SQL.update_log, {"psych_work": "PRIMARY KEY"}, id="update_log"),
        pytest.param(SQL.read, {"psych_entry": "sqlite_autoindex_psych_entry_1"}, id="read"),
        pytest.param(SQL.promote, {"psych_work": "psych_work_due"}, id="promote"),
        pytest.param(SQL.next_tenant, {"psych_work": "psych_work_ready"}, id="next_tenant"),
        pytest.param(SQL.ready_tenants, {"psych_work": "psych_work_ready"}, id="ready_tenants"),
        pytest.param(SQL.next_version, {"psych_work": "psych_work_ready"}, id="next_version"),
        pytest.param(SQL.pick, {"psych_work": "psych_work_ready"}, id="pick"),
        pytest.param(SQL.claimed, {"psych_work": "psych_work_claimed"}, id="claimed"),
    ],
)
def test_a_hot_statement_is_answered_from_its_index(
    database: sqlite3.Connection, statement: Statement, uses: dict[str, str]
) -> None:
    params = statement.params(dict.fromkeys(statement.names, 0) | dict(statement.fixed))
    plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement.sql}", params)]
    for table, index in uses.items():
        steps = [step for step in plan if step.startswith(("SEARCH", "SCAN")) and table in step.split()]
        assert steps
        assert any(index in step for step in steps), plan
    assert not [step for step in plan if step.startswith("SCAN psych_")]
    # Of a log, the rows that are sorted are those of one page.
    assert statement is SQL.read or "USE TEMP B-TREE FOR ORDER BY" not in plan


def test_ready_work_is_seen_at_its_index(database: sqlite3.Connection) -> None:
    plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {SQL.has_ready.sql}", (0, 0))]
    indexes = {step.split(" INDEX ")[1].split()[0] for step in plan if " INDEX " in step}
    assert indexes == {"psych_work_ready", "psych_work_due"}

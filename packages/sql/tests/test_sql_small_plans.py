"""Each statement of the small ports is answered from an index, however much is stored."""

import asyncio
import sqlite3
from collections.abc import Generator, Iterator
from typing import cast

import pytest
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime.testing.clock import START
from psych_runtime_sql.driver import Statement
from psych_runtime_sql.migrator import Migrator
from psych_runtime_sql.operations import Operations
from psych_runtime_sqlite.connection import SQLiteDriver

DIALECT = sqlite_dialect(paramstyle="qmark")


@pytest.fixture(scope="module")
def database() -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    asyncio.run(Migrator(DIALECT).migrate(SQLiteDriver(connection), "post", START, plan=False))
    yield connection
    connection.close()


def statements() -> Iterator[tuple[str, Statement]]:
    """All of them, by their names."""
    operations = Operations(DIALECT)
    for group in (operations.values, operations.texts, operations.blobs, operations.chunks):
        held: dict[str, object] = vars(group)
        for name, value in held.items():
            found = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
            for number, each in enumerate(found):
                if isinstance(each, Statement):
                    yield f"{type(group).__name__}{name}_{number}", each


def plan_of(database: sqlite3.Connection, statement: Statement) -> list[str]:
    params = statement.params(dict.fromkeys(statement.names, 0) | dict(statement.fixed))
    return [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement.sql}", params)]


ALL = dict(statements())


@pytest.mark.parametrize("name", ALL)
def test_no_table_is_walked(database: sqlite3.Connection, name: str) -> None:
    plan = plan_of(database, ALL[name])
    # The count is one row.
    assert not [step for step in plan if step.startswith("SCAN psych_") and "psych_kv_count" not in step]


def test_what_has_expired_is_found_by_its_time(database: sqlite3.Connection) -> None:
    assert any("psych_kv_expires" in step for step in plan_of(database, ALL["Values_expire_0"]))


def test_what_is_stale_is_found_by_its_time(database: sqlite3.Connection) -> None:
    assert any("psych_live_at" in step for step in plan_of(database, ALL["Texts_stale_0"]))


def test_a_page_of_blobs_begins_where_the_last_one_ended(database: sqlite3.Connection) -> None:
    plans = [plan_of(database, ALL[f"BlobRows_pages_{parts}"]) for parts in range(3)]
    keys = [plan[0].split("PRIMARY KEY ")[1] for plan in plans]
    assert keys == [
        "((tenant,run_id,call_id)>(?,?,?))",
        "(tenant=? AND (run_id,call_id)>(?,?))",
        "(tenant=? AND run_id=? AND call_id>?)",
    ]


def test_the_last_chunk_of_a_text_is_found_without_its_other_chunks(database: sqlite3.Connection) -> None:
    searches = [step for step in plan_of(database, ALL["Texts_tails_0"]) if "SEARCH psych_live" in step]
    assert ["COVERING" in step for step in searches] == [True, False]
    assert "start=?" in searches[1]

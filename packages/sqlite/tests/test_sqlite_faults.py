"""What SQLite refuses is told with what to do about it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from psych_runtime_core.errors import StoreError, StoreMisconfigured, StoreUnavailable
from psych_runtime_core.ids import WorkerId
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.faults import translated


async def refusal(path: Path) -> StoreError:
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError) as refused:
            await store.migrate()
    return refused.value


async def test_a_file_of_another_kind_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database" * 100)
    assert "notes.txt is no SQLite database" in str(await refusal(path))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param(".", "is a folder; name a file in it", id="a folder"),
        pytest.param("nowhere/runs.db", "there is no folder", id="a folder that is missing"),
    ],
)
async def test_where_there_can_be_no_file_is_said(tmp_path: Path, name: str, says: str) -> None:
    error = await refusal(tmp_path / name)
    assert isinstance(error, StoreMisconfigured)
    assert says in str(error)


def test_a_transaction_that_read_too_early_is_told_how_to_begin(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as first, closing(sqlite3.connect(path)) as second:
        first.execute("PRAGMA journal_mode = wal")
        first.execute("CREATE TABLE orders (id)")
        second.execute("BEGIN")
        second.execute("SELECT * FROM orders").fetchall()
        first.execute("INSERT INTO orders VALUES (1)")
        first.commit()
        with pytest.raises(sqlite3.OperationalError) as refused:
            second.execute("INSERT INTO orders VALUES (2)")
    told = translated(refused.value, "admit", path)
    assert isinstance(told, StoreUnavailable)
    assert "begin with BEGIN IMMEDIATE" in str(told)


async def test_a_call_that_waits_for_a_transaction_says_that_it_may_be_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with SQLiteStore(path, operation_seconds=0.2) as store:
        await store.migrate()
        with closing(sqlite3.connect(path, isolation_level=None)) as ours:
            ours.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="a transaction of yours") as refused:
                await store.claim(WorkerId("worker"))
            ours.execute("ROLLBACK")
    assert refused.value.outcome == "none"

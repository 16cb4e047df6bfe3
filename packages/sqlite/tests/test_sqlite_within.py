"""Runs that begin in a transaction of the caller's, by whatever it has connected to the file."""

import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from packages.sqlite.tests.sqlite_callers import (
    Caller,
    Connect,
    joined,
    of_async_sqlalchemy,
    of_python,
    of_sqlalchemy,
    of_sqlalchemy_that_begins_itself,
)
from psych_runtime_contract.store import Caps
from psych_runtime_contract.store.scenes import RUN, claimed_ids
from psych_runtime_contract.store.transactions import StoreTransactions, begin
from psych_runtime_core.errors import NotMigrated, RunNotFound, StoreError, StoreUnavailable
from psych_runtime_core.ports.store import Store
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.version import Version
from psych_runtime_sqlite import SQLiteStore

# With Python's own connection the suite of the whole store does the same.
OF_OTHERS = (of_sqlalchemy, of_sqlalchemy_that_begins_itself, of_async_sqlalchemy)


class TestWithin(StoreTransactions):
    caps = Caps(durable=False, handles=False, transactions=True)

    @pytest.fixture(params=OF_OTHERS, autouse=True)
    def connected(self, request: pytest.FixtureRequest, path: Path) -> None:
        self.path, self.connect = path, request.param

    def joined(self, store: Store) -> AbstractAsyncContextManager[Caller]:
        return joined(store, self.path, self.connect)


@pytest.fixture(params=[of_python, *OF_OTHERS])
async def caller(request: pytest.FixtureRequest, store: SQLiteStore, path: Path) -> AsyncGenerator[Caller]:
    connect: Connect = request.param
    async with joined(store, path, connect) as caller:
        yield caller


async def test_an_admission_that_fails_halfway_leaves_no_half(
    store: SQLiteStore, caller: Caller, path: Path
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON psych_entry BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    await caller.write("17")
    with pytest.raises(StoreError, match="SQLite refused a statement"):
        await begin(caller.store)
    await caller.commit()
    assert await caller.rows() == ["17"]
    with pytest.raises(RunNotFound):
        await store.get_run(RUN)


async def test_the_lock_is_waited_for_as_long_as_the_caller_waits(
    store: SQLiteStore, caller: Caller, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable) as caught:
            await begin(caller.store)
        assert caught.value.outcome == "none"
    await caller.roll_back()
    await begin(caller.store)
    await caller.commit()
    assert await claimed_ids(store) == [RUN]


async def test_a_version_must_be_stored_before(store: SQLiteStore, caller: Caller) -> None:
    version = Version.of(AgentSpec(name="clerk", model=ModelRef(model="small")))
    await caller.write("17")
    with pytest.raises(StoreError, match="publish its Spec before"):
        await caller.store.put_version(version)
    await caller.roll_back()
    stored = await store.put_version(version)
    await caller.write("17")
    assert await caller.store.put_version(version) == stored


# --- what is refused -------------------------------------------------------------------------------------


@contextmanager
def python_connection(path: Path, **options: Any) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, **options)) as connection:
        yield connection


async def test_a_connection_that_commits_each_statement_is_refused(store: SQLiteStore, path: Path) -> None:
    with python_connection(path, isolation_level=None) as connection:
        with pytest.raises(StoreError, match="needs a transaction"):
            await begin(store.within(connection))
        connection.execute("BEGIN")
        await begin(store.within(connection))
        connection.execute("ROLLBACK")
    with pytest.raises(RunNotFound):
        await store.get_run(RUN)


async def test_a_connection_to_another_file_is_refused(store: SQLiteStore, tmp_path: Path) -> None:
    for other in (":memory:", tmp_path / "other.db"):
        with (
            closing(sqlite3.connect(other)) as connection,
            pytest.raises(ValueError, match="this connection is to"),
        ):
            await begin(store.within(connection))


async def test_a_file_without_the_schema_says_so(path: Path) -> None:
    async with SQLiteStore(path) as store:
        with python_connection(path) as connection:
            connection.execute("CREATE TABLE orders (name)")
            with pytest.raises(NotMigrated):
                await begin(store.within(connection))


async def test_a_store_that_only_reads_or_is_closed_begins_nothing(store: SQLiteStore, path: Path) -> None:
    with python_connection(path) as connection:
        async with SQLiteStore(path, read_only=True) as reader:
            with pytest.raises(StoreError, match="read-only"):
                reader.within(connection)
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            store.within(connection)

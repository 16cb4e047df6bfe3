"""Runs that begin in a transaction of the caller's, by whatever it has connected to the file."""

import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import InvalidRequestError

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
from psych_runtime_core.errors import (
    IdempotencyConflict,
    NotMigrated,
    RunNotFound,
    StoreError,
    StoreUnavailable,
)
from psych_runtime_core.ids import RunId
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


NO_CONNECTIONS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a path": str,
    "a cursor": lambda path: sqlite3.connect(":memory:").cursor(),
    "an engine": lambda path: create_engine(f"sqlite:///{path}"),
    "a store": SQLiteStore,
}


@pytest.mark.parametrize("given", NO_CONNECTIONS)
async def test_what_is_no_connection_is_refused_at_once(store: SQLiteStore, path: Path, given: str) -> None:
    with pytest.raises(TypeError, match="takes a connection of sqlite3 or of SQLAlchemy, not"):
        store.within(cast("Any", NO_CONNECTIONS[given](path)))


async def test_what_runs_something_on_no_connection_is_refused(store: SQLiteStore, path: Path) -> None:
    class RunsOnASession:
        async def run_sync(self, function: Callable[[Any], object]) -> object:
            return function(self)

    with pytest.raises(TypeError, match="not RunsOnASession"):
        await begin(store.within(cast("Any", RunsOnASession())))


async def test_a_connection_that_is_closed_is_an_error_of_the_store(store: SQLiteStore, path: Path) -> None:
    class NotStarted:
        async def run_sync(self, function: object) -> object:
            raise InvalidRequestError("this connection was not started")

    for connect in (of_python, of_sqlalchemy, of_async_sqlalchemy):
        given, own = connect(path)
        own.close()
        with pytest.raises(StoreError):
            await begin(store.within(given))
    with pytest.raises(StoreError, match="was not started"):
        await begin(store.within(cast("Any", NotStarted())))


# --- what stays as it was --------------------------------------------------------------------------------


def raw(caller: Caller) -> Any:
    """The connection of the driver under whatever is given."""
    given = caller.own
    return given if isinstance(given, sqlite3.Connection) else given.connection.driver_connection


async def test_rows_and_texts_are_the_callers_own_everywhere_else(store: SQLiteStore, caller: Caller) -> None:
    def row_of(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> object:
        del cursor
        return {"row": row}

    own = raw(caller)
    own.row_factory, own.text_factory = row_of, bytes
    await begin(caller.store, idempotency_key="key")
    assert await begin(caller.store, "run_other", idempotency_key="key") == RUN
    assert (await caller.store.get_run(RUN)).scope.tenant == "acme"
    assert (own.row_factory, own.text_factory) == (row_of, bytes)
    with pytest.raises(RunNotFound):
        await caller.store.get_run(RunId("run_none"))
    assert (own.row_factory, own.text_factory) == (row_of, bytes)
    own.row_factory, own.text_factory = None, str
    await caller.commit()
    assert await claimed_ids(store) == [RUN]


def is_free(path: Path) -> bool:
    """Whether anybody may write."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


async def test_a_call_that_is_refused_leaves_no_lock(store: SQLiteStore, caller: Caller, path: Path) -> None:
    await begin(store, idempotency_key="key")
    with pytest.raises(IdempotencyConflict):
        await begin(caller.store, "run_other", idempotency_key="key", request=bytes(32))
    with pytest.raises(RunNotFound):
        await caller.store.get_run(RunId("run_none"))
    assert not raw(caller).in_transaction
    assert is_free(path)


async def test_a_question_alone_leaves_no_lock(store: SQLiteStore, caller: Caller, path: Path) -> None:
    await begin(store)
    assert (await caller.store.get_run(RUN)).run_id == RUN
    assert len(await caller.store.read(RUN)) == 1
    assert is_free(path)
    await caller.write("17")
    assert not is_free(path)
    assert (await caller.store.get_run(RUN)).run_id == RUN
    await caller.commit()
    assert await caller.rows() == ["17"]


async def test_what_the_caller_began_before_a_refusal_stays(store: SQLiteStore, caller: Caller) -> None:
    await caller.write("17")
    await begin(caller.store, idempotency_key="key")
    with pytest.raises(IdempotencyConflict):
        await begin(caller.store, "run_other", idempotency_key="key", request=bytes(32))
    await caller.commit()
    assert await caller.rows() == ["17"]
    assert await claimed_ids(store) == [RUN]


async def test_a_connection_to_another_file_is_left_as_it_was(
    store: SQLiteStore, path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    with python_connection(other) as connection:
        connection.execute(f"ATTACH '{path}' AS psych")
        with pytest.raises(ValueError, match="this connection is to"):
            await begin(store.within(connection))
        assert not connection.in_transaction
        assert is_free(other)


async def test_a_store_that_only_reads_or_is_closed_begins_nothing(store: SQLiteStore, path: Path) -> None:
    with python_connection(path) as connection:
        async with SQLiteStore(path, read_only=True) as reader:
            with pytest.raises(StoreError, match="read-only"):
                reader.within(connection)
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            store.within(connection)

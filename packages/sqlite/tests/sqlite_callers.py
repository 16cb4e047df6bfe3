"""Callers with a transaction of their own in a store's file, each by another kind of connection."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from sqlalchemy import Connection, Engine, create_engine, event

from psych_runtime_core.ports.store import Store
from psych_runtime_sqlite import SQLiteStore

T = TypeVar("T")


class Caller:
    """A connection of the caller's; `given` is what `within` is given, `own` what writes and commits."""

    def __init__(self, store: SQLiteStore, path: Path, given: Any, connection: Any) -> None:
        self._store, self._path, self.given, self.own = store, path, given, connection

    @property
    def store(self) -> Store:
        return self._store.within(self.given)

    async def write(self, row: str) -> None:
        execute: Callable[..., object] = getattr(self.own, "exec_driver_sql", self.own.execute)
        execute("INSERT INTO orders VALUES (?)", (row,))

    async def rows(self) -> Sequence[str]:
        with closing(sqlite3.connect(self._path)) as connection:
            return [name for (name,) in connection.execute("SELECT name FROM orders ORDER BY rowid")]

    async def commit(self) -> None:
        self.own.commit()

    async def roll_back(self) -> None:
        self.own.rollback()


Connect: TypeAlias = "Callable[[Path], tuple[Any, Any]]"
"""What is given, and what writes, commits and is closed."""


@asynccontextmanager
async def joined(store: Store, path: Path, connect: Connect) -> AsyncGenerator[Caller]:
    """A caller with a table of its own."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (name)")
    given, own = connect(path)
    with closing(own):
        yield Caller(cast("SQLiteStore", store), path, given, own)


def of_python(path: Path) -> tuple[Any, Any]:
    connection = sqlite3.connect(path, timeout=0.1)
    connection.row_factory = lambda cursor, row: {"a row of its own": row}
    return connection, connection


def of_sqlalchemy(path: Path) -> tuple[Any, Any]:
    return _of_engine(create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.1}))


def of_sqlalchemy_that_begins_itself(path: Path) -> tuple[Any, Any]:
    """As its documents say how SQLite's transactions are had whole."""
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.1})

    @event.listens_for(engine, "connect")
    def no_begin_of_python(connection: sqlite3.Connection, record: object) -> None:
        del record
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return _of_engine(engine)


def _of_engine(engine: Engine) -> tuple[Any, Any]:
    connection = engine.connect()
    return connection, connection


def of_async_sqlalchemy(path: Path) -> tuple[Any, Any]:
    """All that is asked of an `AsyncConnection` is to run a function on its `Connection`."""
    _, connection = of_sqlalchemy(path)

    class RunsSync:
        async def run_sync(self, function: Callable[[Connection], T]) -> T:
            await asyncio.sleep(0)
            return function(cast("Connection", connection))

    return RunsSync(), connection

"""The caller's connection, in whose transaction a Run is admitted beside rows of the caller's own."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from psych_runtime_core.errors import StoreError
from psych_runtime_sql.driver import Row
from psych_runtime_sqlite.connection import complete
from psych_runtime_sqlite.database import Database

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection
else:
    # Its module cannot be loaded without greenlet, which only those have who use it.
    AsyncConnection = Any

T = TypeVar("T")

CallersConnection: TypeAlias = sqlite3.Connection | Connection | AsyncConnection


@runtime_checkable
class _RunsSync(Protocol):
    """What is asked of an `AsyncConnection`, whose module need not be loaded for that."""

    def run_sync(self, fn: Callable[[Connection], T]) -> Awaitable[T]: ...


@runtime_checkable
class _Raw(Protocol):
    """A connection of `sqlite3`, or of `aiosqlite`."""

    @property
    def in_transaction(self) -> bool: ...

    @property
    def isolation_level(self) -> str | None: ...


class Caller:
    """A connection of the caller's to the file of a store. What is done on it, it never commits."""

    def __init__(self, database: Database, connection: CallersConnection) -> None:
        self._database, self._connection = database, connection

    async def run(self, operation: str, work: Callable[[CallersDriver], Coroutine[Any, Any, T]]) -> T:
        """Do something that is whole or not at all, inside the caller's transaction. Raises `StoreError`."""

        def on(connection: sqlite3.Connection | Connection) -> T:
            driver = CallersDriver(connection)
            try:
                with self._whole(driver):
                    return complete(work(driver))
            except (sqlite3.Error, DBAPIError) as error:
                raise self._told(error, operation) from error

        if isinstance(self._connection, sqlite3.Connection | Connection):
            return on(self._connection)
        assert isinstance(self._connection, _RunsSync), "nothing else is a connection here"
        return await self._connection.run_sync(on)

    @contextmanager
    def _whole(self, driver: CallersDriver) -> Generator[None]:
        driver.begin()
        self._require_file(driver)
        complete(self._database.migrator.check(driver))
        driver.execute("SAVEPOINT psych_within")
        try:
            yield
        except BaseException:
            # Of some errors SQLite rolls back all there is, and says so.
            if driver.in_transaction:
                driver.execute("ROLLBACK TO psych_within")
                driver.execute("RELEASE psych_within")
            raise
        driver.execute("RELEASE psych_within")

    def _require_file(self, driver: CallersDriver) -> None:
        (file,) = [row[2] for row in driver.execute("PRAGMA database_list") if row[1] == "main"]
        path = self._database.path
        if not file or not path.exists() or not os.path.samefile(file, path):
            raise ValueError(f"this connection is to {file or 'no file'}, and the store is {path}")

    def _told(self, error: sqlite3.Error | DBAPIError, operation: str) -> StoreError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, sqlite3.Error):
            return self._database.explain(cause, operation)
        return StoreError(f"{operation}: the connection of the caller failed ({error})")


class CallersDriver:
    """A `MigrationDriver` on a connection that is not ours. It never suspends.

    SQLAlchemy opens its transaction with the first statement that it is given: one that is sent past it would
    outlive a rollback.
    """

    def __init__(self, connection: sqlite3.Connection | Connection) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        return self._raw.in_transaction

    def begin(self) -> None:
        """Be in a transaction. Raises `StoreError` where nobody would end one."""
        self.execute("SELECT 1")
        if self.in_transaction:
            return
        if self._raw.isolation_level is None:
            raise StoreError("within(connection) needs a transaction: this connection commits each statement")
        # Python begins one before the first change, but not before the questions that lead to it.
        self.execute("BEGIN IMMEDIATE")

    def execute(self, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        if isinstance(self._connection, Connection):
            result = self._connection.exec_driver_sql(sql, tuple(params))
            return [tuple(row) for row in result] if result.returns_rows else ()
        cursor = self._connection.cursor()
        # The caller may have its own idea of a row.
        cursor.row_factory = None
        return cursor.execute(sql, params).fetchall()

    async def fetch(self, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        return self.execute(sql, params)

    async def has_ledger(self) -> bool:
        return bool(self.execute("SELECT 1 FROM sqlite_schema WHERE name = 'psych_migration'"))

    def exclusive(self) -> Any:
        raise StoreError("a schema is not migrated in the transaction of a caller")

    @property
    def _raw(self) -> _Raw:
        """The connection of the driver beneath, of which only its state is asked."""
        raw: object = self._connection
        if isinstance(self._connection, Connection):
            raw = self._connection.connection.driver_connection
        if not isinstance(raw, _Raw):
            raise TypeError(f"within() takes a connection to SQLite, not one of {type(raw).__name__}")
        return raw

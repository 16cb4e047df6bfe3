"""The caller's connection, in whose transaction a Run is admitted beside rows of the caller's own."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

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
Work: TypeAlias = "Callable[[CallersDriver], Coroutine[Any, Any, T]]"


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

    row_factory: Any
    text_factory: Any


class Caller:
    """A connection of the caller's to the file of a store. What is done on it, it never commits."""

    def __init__(self, database: Database, connection: object) -> None:
        """Raises `TypeError` for what is no connection."""
        if not isinstance(connection, sqlite3.Connection | Connection | _RunsSync):
            raise _no_connection(connection)
        self._database, self._connection = database, connection

    async def read(self, operation: str, work: Work[T]) -> T:
        """Ask something inside the caller's transaction, or outside of any. Raises `StoreError`."""
        return await self._run(operation, work)

    async def write(self, operation: str, work: Work[T]) -> T:
        """Do something that is whole or not at all, inside the caller's transaction. Raises `StoreError`.

        Where there is none one is begun.
        """
        return await self._run(operation, work, begins=True)

    async def _run(self, operation: str, work: Work[T], *, begins: bool = False) -> T:
        def on(connection: object) -> T:
            if not isinstance(connection, sqlite3.Connection | Connection):
                raise _no_connection(connection)
            driver = CallersDriver(connection)
            with driver.untouched_if_refused(), driver.as_we_read():
                self._require_file(driver)
                complete(self._database.migrator.check(driver))
                if begins:
                    driver.begin()
                with driver.savepoint():
                    return complete(work(driver))

        try:
            if isinstance(self._connection, sqlite3.Connection | Connection):
                return on(self._connection)
            return await self._connection.run_sync(on)
        except (sqlite3.Error, SQLAlchemyError) as error:
            raise self._told(error, operation) from error

    def _require_file(self, driver: CallersDriver) -> None:
        (file,) = [row[2] for row in driver.execute("PRAGMA database_list") if row[1] == "main"]
        path = self._database.path
        if not file or not path.exists() or not os.path.samefile(file, path):
            raise ValueError(f"this connection is to {file or 'no file'}, and the store is {path}")

    def _told(self, error: sqlite3.Error | SQLAlchemyError, operation: str) -> StoreError:
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

    @contextmanager
    def as_we_read(self) -> Generator[None]:
        """Have rows and texts as they are stored: the caller may have its own idea of them."""
        raw = self._raw
        factories = raw.row_factory, raw.text_factory
        raw.row_factory, raw.text_factory = None, str
        try:
            yield
        finally:
            raw.row_factory, raw.text_factory = factories

    @contextmanager
    def untouched_if_refused(self) -> Generator[None]:
        """End a transaction of which there was none before, if what is done fails."""
        in_transaction = self._in_transaction
        try:
            yield
        except BaseException:
            if self._in_transaction and not in_transaction:
                self._connection.rollback()
            raise

    def begin(self) -> None:
        """Be in a transaction. Raises `StoreError` where nobody would end one."""
        if self._raw.in_transaction:
            return
        if self._raw.isolation_level is None:
            raise StoreError("within(connection) needs a transaction: this connection commits each statement")
        # Python begins one before the first change, but not before the questions that lead to it.
        self.execute("BEGIN IMMEDIATE")

    @contextmanager
    def savepoint(self) -> Generator[None]:
        """Take back what is done if it fails. Outside of a transaction it is one by itself."""
        self.execute("SAVEPOINT psych_within")
        try:
            yield
        except BaseException:
            # Of some errors SQLite rolls back all there is, and says so.
            if self._raw.in_transaction:
                self.execute("ROLLBACK TO psych_within")
                self.execute("RELEASE psych_within")
            raise
        self.execute("RELEASE psych_within")

    def execute(self, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        if isinstance(self._connection, Connection):
            result = self._connection.exec_driver_sql(sql, tuple(params))
            return [tuple(row) for row in result] if result.returns_rows else ()
        return self._connection.execute(sql, params).fetchall()

    async def fetch(self, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        return self.execute(sql, params)

    async def has_ledger(self) -> bool:
        return bool(self.execute("SELECT 1 FROM sqlite_schema WHERE name = 'psych_migration'"))

    def exclusive(self) -> Any:
        raise StoreError("a schema is not migrated in the transaction of a caller")

    @property
    def _in_transaction(self) -> bool:
        """Whether the caller would say so: SQLAlchemy's begin before the driver's do."""
        if isinstance(self._connection, Connection):
            return self._connection.in_transaction()
        return self._connection.in_transaction

    @property
    def _raw(self) -> _Raw:
        """The connection of the driver beneath."""
        raw: object = self._connection
        if isinstance(self._connection, Connection):
            raw = self._connection.connection.driver_connection
        if not isinstance(raw, _Raw):
            raise TypeError(f"within() takes a connection to SQLite, not one of {type(raw).__name__}")
        return raw


def _no_connection(given: object) -> TypeError:
    return TypeError(
        f"within() takes a connection of sqlite3 or of SQLAlchemy, not {type(given).__name__}; an engine or a"
        " session gives one by its connect() or connection()"
    )

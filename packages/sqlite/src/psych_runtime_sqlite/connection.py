"""Connections: how they are set up, how they are held, and what runs on them."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any, TypeVar
from weakref import WeakSet

from psych_runtime_sql.driver import Row
from psych_runtime_sqlite.faults import is_busy

T = TypeVar("T")


class SQLiteDriver:
    """A `Driver` and a `MigrationDriver` on a connection of this thread. It never suspends."""

    def __init__(self, connection: sqlite3.Connection, opened: int = 0) -> None:
        self._connection = connection
        self.opened = opened
        """Which opening of the connection this is, so that counters of two are not compared."""

    async def fetch(self, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        return self._connection.execute(sql, params).fetchall()

    async def has_ledger(self) -> bool:
        return bool(await self.fetch("SELECT 1 FROM sqlite_schema WHERE name = 'psych_migration'"))

    @asynccontextmanager
    async def exclusive(self) -> AsyncGenerator[None]:
        self._connection.execute("BEGIN EXCLUSIVE")
        try:
            yield
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def complete(operation: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, since its driver does not."""
    try:
        operation.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    operation.close()
    raise RuntimeError("an operation on SQLite must not wait for anything but its driver")


class HeldConnection:
    """A connection of one thread, opened when it is needed and reopened after it failed."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._open: tuple[sqlite3.Connection, SQLiteDriver] | None = None
        self._openings = count(1)
        self.lock = threading.Lock()
        with _FORK:
            _HELD.add(self)

    @contextmanager
    def use(self) -> Generator[tuple[sqlite3.Connection, SQLiteDriver]]:
        """The connection. It is dropped when the block fails for anything but another process."""
        with self.lock:
            if self._open is None:
                connection = self._connect()
                self._open = connection, SQLiteDriver(connection, next(self._openings))
            try:
                yield self._open
            except BaseException as error:
                if not is_busy(error) or self._open[0].in_transaction:
                    self.drop()
                raise

    def close(self) -> None:
        with self.lock:
            self.drop()

    def drop(self) -> None:
        """Close it; the caller holds the lock."""
        held, self._open = self._open, None
        if held is not None:
            held[0].close()


# SQLite keeps the locks of a process in its memory, and a child inherits that memory but not the locks:
# a connection opened there would believe itself protected, and lose its WAL when the parent closes. So no
# connection is open while a process forks. `subprocess` does not come through here, and need not.
_FORK = threading.RLock()
_HELD: WeakSet[HeldConnection] = WeakSet()
_closed_for_fork: list[HeldConnection] = []


def _before_fork() -> None:
    _FORK.acquire()
    for held in tuple(_HELD):
        held.lock.acquire()
        _closed_for_fork.append(held)
        held.drop()


def _after_fork_in_parent() -> None:
    for held in _closed_for_fork:
        held.lock.release()
    _closed_for_fork.clear()
    _FORK.release()


def _after_fork_in_child() -> None:
    # Their threads are the parent's: what is held here is never used again.
    _closed_for_fork.clear()
    _HELD.clear()
    _FORK.release()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)

"""A driver of SQLite that fails at any statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, ClassVar


class Fault:
    """Counts statements down, and then fails each."""

    def __init__(self, at: int, *, done: bool) -> None:
        self._left, self._done = at, done

    @contextmanager
    def befall(self, sql: str) -> Generator[None]:
        """One statement."""
        if sql.startswith("ROLLBACK"):
            yield
            return
        struck = self._left <= 0
        self._left -= 1
        if struck and not self._done:
            raise broken()
        yield
        if struck:
            raise broken()


class FailingConnection(sqlite3.Connection):
    """A connection that is befallen by what is the fault now."""

    fault: ClassVar[Fault | None] = None

    @classmethod
    @contextmanager
    def failing(cls, fault: Fault) -> Generator[None]:
        """Within the block there is this fault."""
        cls.fault = fault
        try:
            yield
        finally:
            cls.fault = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if self.fault is None:
            return super().execute(sql, parameters)
        with self.fault.befall(sql):
            return super().execute(sql, parameters)


def broken() -> sqlite3.Error:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error

"""What SQLite's errors mean for a caller."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

from psych_runtime_core.errors import (
    StoreError,
    StoreFull,
    StoreMisconfigured,
    StoreUnavailable,
)

Outcome = Literal["none", "unknown"]

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_FAILING = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FORBIDDEN = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


def lacks_schema(error: sqlite3.Error) -> bool:
    """Whether it met a table or a column that is not there."""
    return str(error).startswith(("no such table", "no such column"))


def is_busy(error: BaseException) -> bool:
    """Whether another process is in the way."""
    return isinstance(error, sqlite3.Error) and _code(error) in _BUSY


def translated(error: sqlite3.Error, operation: str, path: Path, outcome: Outcome = "none") -> StoreError:
    """The error that a caller sees; the driver's belongs to it as its cause."""
    code, detail = _code(error), f"{path.name}: {error}"
    found: StoreError
    if code == sqlite3.SQLITE_FULL:
        found = StoreFull(operation, detail, "none")
    elif code in _BUSY:
        found = StoreUnavailable(operation, detail, "none")
    elif code in _FAILING:
        found = StoreUnavailable(operation, detail, outcome)
    elif code in _DAMAGED:
        found = StoreError(f"{operation}: {path} is damaged ({error}); restore it from a backup")
    elif code in _FORBIDDEN:
        found = StoreMisconfigured(
            f"{operation}: {path} cannot be written ({error}); give this process write access to the file"
            " and to its folder, readers need it too"
        )
    else:
        found = StoreError(f"{operation}: SQLite refused a statement ({error})")
    found.__cause__ = error
    return found


def _code(error: sqlite3.Error) -> int:
    """The primary result code. Errors of Python's module itself have none."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF

"""What SQLite's errors mean for a caller."""

from __future__ import annotations

import os
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
        found = StoreUnavailable(operation, f"{detail}{_stale(error)}", "none")
    elif code in _FAILING and not os.path.isdir(path):
        found = StoreUnavailable(operation, detail, outcome)
    elif code == sqlite3.SQLITE_NOTADB:
        found = StoreError(
            f"{operation}: {path} is no SQLite database; name another file, or restore this one"
        )
    elif code == sqlite3.SQLITE_CORRUPT:
        found = StoreError(f"{operation}: {path} is damaged ({error}); restore it from a backup")
    elif code in _FORBIDDEN or code in _FAILING:
        found = StoreMisconfigured(f"{operation}: {_forbidden(path, error)}")
    else:
        found = StoreError(f"{operation}: SQLite refused a statement ({error})")
    found.__cause__ = error
    return found


def _stale(error: sqlite3.Error) -> str:
    """What to do where waiting does not help: a transaction read before another one wrote."""
    if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY_SNAPSHOT:
        return ""
    return "; it was read before another process wrote: roll it back, and begin with BEGIN IMMEDIATE"


def _forbidden(path: Path, error: sqlite3.Error) -> str:
    """Why a file cannot be opened or written, and what to do."""
    if os.path.isdir(path):
        return f"{path} is a folder; name a file in it"
    if _is_missing(path.parent):
        return f"there is no folder {path.parent}; make it, or name a file elsewhere"
    return (
        f"{path} cannot be written ({error}); give this process write access to the file"
        " and to its folder, readers need it too"
    )


def _is_missing(folder: Path) -> bool:
    """Whether it is known not to be there: one that may not be looked into may be."""
    try:
        folder.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def _code(error: sqlite3.Error) -> int:
    """The primary result code. Errors of Python's module itself have none."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF

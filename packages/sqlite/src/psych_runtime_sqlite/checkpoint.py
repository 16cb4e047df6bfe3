"""One checkpointer for all processes of a machine."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path

from psych_runtime_sqlite.database import PAGE_BYTES

PAGES = 4 * 1024 * 1024 // PAGE_BYTES


class Checkpointer:
    """Moves the WAL into the file when about 4 MiB were written, unless another process does."""

    def __init__(self, path: Path) -> None:
        self._lock_file = path.with_name(f"{path.name}-checkpoint")
        self._wal = path.with_name(f"{path.name}-wal")
        self._written = 0

    def note(self, pages: int) -> None:
        """So many pages went into the WAL."""
        self._written += pages

    @property
    def is_due(self) -> bool:
        return self._written >= PAGES

    def run(self, connection: sqlite3.Connection) -> None:
        """Copy what no reader needs any more. It waits for nobody."""
        self._written = 0
        if self._wal.stat().st_size < PAGES * PAGE_BYTES:
            return
        lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except BlockingIOError:
            return
        finally:
            os.close(lock)

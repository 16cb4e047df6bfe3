"""The file, and how each kind of connection to it is opened."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self, TypeVar

from psych_runtime_core.errors import NotMigrated, StoreMisconfigured
from psych_runtime_core.ports.store import MigrationReport
from psych_runtime_sql.migrator import Migrator, Phase
from psych_runtime_sqlite.connection import HeldConnection, SQLiteDriver, complete
from psych_runtime_sqlite.faults import is_busy, translated

T = TypeVar("T")

PAGE_BYTES = 4096
MIGRATION_SECONDS = 60.0

_OLDEST = (3, 40, 0)
_PRAGMAS = (
    # What macOS calls fsync leaves data in the drive's cache. Elsewhere these two do nothing.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA journal_size_limit = 16777216",
)


@dataclass(frozen=True, slots=True)
class Database:
    """One file and its settings; `busy_seconds` is how long other processes are waited for."""

    path: Path
    synchronous: str
    busy_seconds: float
    migrator: Migrator

    @classmethod
    def at(
        cls, path: str | os.PathLike[str], synchronous: str, busy_seconds: float, migrator: Migrator
    ) -> Self:
        """The file at `path`, as seen from the present folder. Raises `ValueError` for a bad setting."""
        name = os.fspath(path)
        if name in {"", ":memory:"} or name.startswith("file:"):
            raise ValueError(f"{name!r} is no path of a file; use InMemoryStore for a store in memory")
        if synchronous not in {"full", "normal"}:
            raise ValueError(f'synchronous is "full" or "normal", not {synchronous!r}')
        if not busy_seconds >= 0:
            raise ValueError(f"busy_seconds is 0 or more, not {busy_seconds}")
        return cls(Path(name).absolute(), synchronous, busy_seconds, migrator)

    def connect_writer(self) -> sqlite3.Connection:
        """A connection that waits for nobody: its owner does. Raises `NotMigrated`, `StoreMisconfigured`."""
        return self._connect(self._check, timeout=0.0)

    def connect_reader(self) -> sqlite3.Connection:
        """A connection that cannot write. Raises `NotMigrated`, `StoreMisconfigured`."""
        return self._connect(self._check_reader, timeout=self.busy_seconds)

    def migrate(self, phase: Phase, now: datetime, *, plan: bool) -> MigrationReport:
        """Bring the schema up, on a connection of its own. Raises `StoreError`."""
        held = HeldConnection(self._connect_planner if plan else self._connect_migrator)
        try:
            with held.use() as (_, driver):
                return complete(self.migrator.migrate(driver, phase, now, plan=plan))
        except sqlite3.Error as error:
            raise translated(error, "migrate", self.path) from error
        finally:
            held.close()

    def _connect_planner(self) -> sqlite3.Connection:
        """A connection to look with. A file that is not there is like an empty one, and is not made."""
        if not self.path.exists():
            return sqlite3.connect(":memory:")
        return self._connect(lambda _: None, timeout=MIGRATION_SECONDS)

    def _connect_migrator(self) -> sqlite3.Connection:
        """A connection that makes the file and sets its journal mode."""
        # Going over to WAL calls no busy handler, so this waiting is ours.
        return patiently(
            lambda: self._connect(self._use_wal, mode="rwc", timeout=MIGRATION_SECONDS), MIGRATION_SECONDS
        )

    def _connect(
        self, prepare: Callable[[sqlite3.Connection], None], *, mode: str = "rw", timeout: float
    ) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreMisconfigured(f"SQLite is {sqlite3.sqlite_version}; use a Python with 3.40 or newer")
        if mode == "rw" and not self.path.exists():
            raise NotMigrated(0, self.migrator.level)
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            for pragma in (f"PRAGMA synchronous = {self.synchronous}", *_PRAGMAS):
                connection.execute(pragma)
            prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        self._require_wal(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])

    def _check(self, connection: sqlite3.Connection) -> None:
        complete(self.migrator.check(SQLiteDriver(connection)))
        self._require_wal(connection.execute("PRAGMA journal_mode").fetchone()[0])

    def _check_reader(self, connection: sqlite3.Connection) -> None:
        self._check(connection)
        connection.execute("PRAGMA query_only = ON")

    def _require_wal(self, mode: str) -> None:
        if mode != "wal":
            raise StoreMisconfigured(
                f"{self.path} is in journal mode {mode!r}, not WAL; keep it on a local disk (network file"
                " systems have no WAL) and call await store.migrate()"
            )


def patiently(attempt: Callable[[], T], seconds: float) -> T:
    """Try until no other process is in the way. Raises the driver's error after `seconds`."""
    end = time.monotonic() + seconds
    tried = 0
    while True:
        try:
            return attempt()
        except sqlite3.Error as error:
            if not is_busy(error) or time.monotonic() >= end:
                raise
        time.sleep(pause(tried))
        tried += 1


def pause(tried: int) -> float:
    """Seconds between two tries for a lock: 0.5 ms at first, up to 10. Jitter keeps processes out of step."""
    return random.uniform(0.5, 1.5) * min(0.0005 * (1 << min(tried, 5)), 0.01)

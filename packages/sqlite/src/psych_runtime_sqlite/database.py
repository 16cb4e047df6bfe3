"""The file, and how each kind of connection to it is opened."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from psych_runtime_core.errors import NotMigrated, StoreError, StoreMisconfigured
from psych_runtime_core.ports.reports import MigrationReport
from psych_runtime_sql.migrator import Migrator, Phase
from psych_runtime_sqlite.connection import HeldConnection, SQLiteDriver, complete
from psych_runtime_sqlite.faults import Outcome, is_busy, lacks_schema, translated

T = TypeVar("T")

PAGE_BYTES = 8192
"""Of a new file. An entry of a kilobyte or two leaves less of such a page empty than of SQLite's own 4096."""
MIGRATION_SECONDS = 60.0

Mode = Literal["ro", "rw", "rwc"]

# What a migration brings a file to that was copied by `VACUUM INTO`.
WAL = "journal_mode_wal"
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
    """One file and its settings. Raises `ValueError` for a bad one.

    `busy_seconds` is how long other processes are waited for, `operation_seconds` how long a call may take.
    """

    path: Path
    migrator: Migrator
    synchronous: str
    busy_seconds: float
    operation_seconds: float
    read_only: bool

    def __post_init__(self) -> None:
        if self.synchronous not in {"full", "normal"}:
            raise ValueError(f'synchronous is "full" or "normal", not {self.synchronous!r}')
        if not self.busy_seconds >= 0:
            raise ValueError(f"busy_seconds is 0 or more, not {self.busy_seconds}")
        if not self.operation_seconds > 0:
            raise ValueError(f"operation_seconds is over 0, not {self.operation_seconds}")

    def connect_writer(self) -> sqlite3.Connection:
        """A connection that waits for nobody: its owner does. Raises `NotMigrated`, `StoreMisconfigured`."""
        return self._connect(self._check, timeout=0.0)

    def connect_reader(self) -> sqlite3.Connection:
        """A connection that cannot write. Raises `NotMigrated`, `StoreMisconfigured`."""
        mode: Mode = "ro" if self.read_only else "rw"
        return self._connect(self._check_reader, mode=mode, timeout=self.busy_seconds)

    def connect_asking(self, timeout: float) -> sqlite3.Connection:
        """A connection that reads whatever schema there is. A file that is not there is like an empty one."""
        if self._is_absent():
            return sqlite3.connect(":memory:")
        return self._connect(lambda _: None, mode="ro", timeout=timeout)

    def migrate(self, phase: Phase, now: datetime, *, plan: bool) -> MigrationReport:
        """Bring schema and journal mode up, on a connection of its own. Raises `StoreError`."""

        async def bring(driver: SQLiteDriver) -> MigrationReport:
            report = await self.migrator.migrate(driver, phase, now, plan=plan)
            if report.to and (await driver.fetch("PRAGMA journal_mode"))[0][0] != "wal":
                return replace(report, pending=(*report.pending, WAL))
            return report

        connect = partial(self.connect_asking, MIGRATION_SECONDS) if plan else self._connect_migrator
        return self.ask("migrate", connect, bring)

    def ask(
        self,
        operation: str,
        connect: Callable[[], sqlite3.Connection],
        question: Callable[[SQLiteDriver], Coroutine[Any, Any, T]],
    ) -> T:
        """What is answered on a connection that serves nothing else. Raises `StoreError`."""
        held = HeldConnection(connect)
        try:
            with held.use() as (_, driver):
                return complete(question(driver))
        except sqlite3.Error as error:
            raise translated(error, operation, self.path) from error
        finally:
            held.close()

    def explain(self, error: sqlite3.Error, operation: str, outcome: Outcome = "none") -> StoreError:
        """The error that a caller sees. What lacks a table may be of another release: then it says so."""
        if lacks_schema(error):
            try:
                connect = partial(self.connect_asking, self.busy_seconds)
                self.ask(operation, connect, self.migrator.check)
            except StoreError as refusal:
                refusal.__cause__ = error
                return refusal
        return translated(error, operation, self.path, outcome)

    def _connect_migrator(self) -> sqlite3.Connection:
        """A connection that makes the file and sets its journal mode."""
        # Going over to WAL calls no busy handler, so this waiting is ours.
        return patiently(
            lambda: self._connect(self._use_wal, mode="rwc", timeout=MIGRATION_SECONDS), MIGRATION_SECONDS
        )

    def _connect(
        self, prepare: Callable[[sqlite3.Connection], None], *, mode: Mode = "rw", timeout: float
    ) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreMisconfigured(f"SQLite is {sqlite3.sqlite_version}; use a Python with 3.40 or newer")
        if mode != "rwc" and self._is_absent():
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

    def _is_absent(self) -> bool:
        try:
            self.path.stat()
        except FileNotFoundError:
            return True
        except OSError:
            # A folder that may not be looked into: SQLite says so, too.
            return False
        return False

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        # Of a file that has tables already, these change nothing.
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
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
                " systems have no WAL) and run `psych migrate`, or call await store.migrate()"
            )


def path_of(path: str | os.PathLike[str]) -> Path:
    """The file, as seen from the present folder. Raises `ValueError` for what is none."""
    name = os.fspath(path)
    if name in {"", ":memory:"} or name.startswith("file:"):
        raise ValueError(f"{name!r} is no path of a file; use InMemoryStore for a store in memory")
    path = Path(name).absolute()
    if not path.name:
        raise ValueError(f"{name!r} is a folder; name a file in it")
    return path


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

"""How the file does, and what is wrong with it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from psych_runtime_core.errors import StoreError
from psych_runtime_core.ports.reports import Schema, StoreCheck
from psych_runtime_sql.operations import Operations
from psych_runtime_sqlite.connection import SQLiteDriver
from psych_runtime_sqlite.database import Database

CHECK_SECONDS = 2.0
# So many are named, and the others counted.
NAMED = 3

# Before these, and before 3.51.3, a reset of the WAL beside a second writer can corrupt the file.
_REPAIRED = {(3, 50): 7, (3, 44): 6}


def health(database: Database, operations: Operations) -> StoreCheck:
    """Ask the file, whatever state it is in."""
    begun = time.monotonic()
    try:
        connect = partial(database.connect_asking, CHECK_SECONDS / 2)
        found = database.ask("check", connect, lambda driver: _examined(driver, database, operations))
    except StoreError as error:
        found = _Found("none", time.monotonic() - begun, (f"open: {error}",))
    return StoreCheck(
        backend="sqlite",
        server_version=sqlite3.sqlite_version,
        schema=found.schema,
        push=True,
        durability=database.synchronous,
        clock_offset_seconds=0.0,
        latency_seconds=found.seconds,
        warnings=(*found.warnings, *_of_release(sqlite3.sqlite_version_info)),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What a file answered, and how long the first question took."""

    schema: Schema
    seconds: float
    warnings: tuple[str, ...]


async def _examined(driver: SQLiteDriver, database: Database, operations: Operations) -> _Found:
    begun = time.monotonic()
    schema = await database.migrator.schema(driver)
    seconds = time.monotonic() - begun
    if schema == "none":
        return _Found(schema, seconds, ())
    warnings: list[str] = []
    mode = (await driver.fetch("PRAGMA journal_mode"))[0][0]
    if mode != "wal":
        warnings.append(f"durability: the journal mode is {mode!r}, not WAL; run `psych migrate`")
    warnings += [f"leftovers: {left}" for left in await _leftovers(driver, operations)]
    return _Found(schema, seconds, tuple(warnings))


async def _leftovers(driver: SQLiteDriver, operations: Operations) -> list[str]:
    left: list[str] = []
    if counts := await operations.marks.counts(driver):
        kinds = ", ".join(f"{number} of {kind}" for kind, number in sorted(counts.items()))
        left.append(f"marks of what is under way or was cut short: {kinds}; store.purge finishes old ones")
    if orphans := await operations.orphans.find(driver):
        more = f" and {len(orphans) - NAMED} more" if len(orphans) > NAMED else ""
        named = ", ".join(orphans[:NAMED])
        left.append(f"entries without a Run: {named}{more}; delete their rows of psych_entry")
    return left


def _of_release(version: tuple[int, ...]) -> Iterator[str]:
    """What is wrong with a release of SQLite."""
    major, minor, patch = version[:3]
    if (major, minor, patch) < (3, 51, 3) and patch < _REPAIRED.get((major, minor), patch + 1):
        yield (
            f"library: SQLite {major}.{minor}.{patch} can corrupt a file that two processes write when its"
            " WAL starts over; use 3.51.3 or newer, 3.50.7 or 3.44.6"
        )

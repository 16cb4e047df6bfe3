"""The store in one SQLite file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import cache
from types import TracebackType
from typing import Literal, Self, TypeVar
from weakref import finalize

from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime_core.clock import Clock, SystemClock
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports import checks
from psych_runtime_core.ports.store import (
    ANY_RUN,
    NOW,
    UNCHANGED,
    Admit,
    Append,
    ClaimFilter,
    Claims,
    HeaderChange,
    Lease,
    MigrationReport,
    Renewed,
    RunHeader,
    Write,
)
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.records import Codec, Entry, Head, PlainCodec
from psych_runtime_core.version import Version
from psych_runtime_sql.leases import ClaimRequest, Leases
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sql.migrator import Migrator
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.runs import Runs, Standing
from psych_runtime_sql.statements import Statements
from psych_runtime_sql.versions import Versions
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.handle import Handle
from psych_runtime_sqlite.jobs import Work

T = TypeVar("T")


_DIALECT = sqlite_dialect(paramstyle="qmark")


@cache
def _statements() -> Statements:
    """All statements, compiled. That takes a tenth of a second, so a process does it once."""
    return Statements(_DIALECT)


class SQLiteStore:
    """A `Store` in one file, for any number of processes of one machine. Call `migrate()` once.

    With `synchronous="full"` an acknowledged write survives `kill -9` and power loss; with `"normal"` it
    survives `kill -9`, and power loss may take the last commits. `busy_seconds` is how long other processes
    are waited for, `readers` how many calls may read at once. One store serves one event loop at a time.
    No other code of the process may open and close the file meanwhile: that drops the store's locks.
    """

    def __init__(  # noqa: PLR0913 - the options of a public constructor, all but one by name
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["full", "normal"] = "full",
        busy_seconds: float = 10.0,
        readers: int = 4,
        codec: Codec | None = None,
        clock: Clock | None = None,
        read_only: bool = False,
    ) -> None:
        statements = _statements()
        self.codec: Codec = codec or PlainCodec()
        self.clock: Clock = clock or SystemClock()
        self._database = Database.at(path, synchronous, busy_seconds, Migrator(_DIALECT))
        self._runs, self._versions = Runs(statements), Versions(statements)
        self._leases, self._lookout = Leases(statements), Lookout(statements)
        self._readers, self._read_only = checked_readers(readers), read_only
        self._handle: Handle | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def put_version(self, version: Version) -> Version:
        return await self._write(
            "put_version", lambda driver: self._versions.put(driver, version, self._now())
        )

    async def get_version(self, version_hash: VersionHash) -> Version:
        return await self._read("get_version", lambda driver: self._versions.get(driver, version_hash))

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        return tuple(standing.head for standing in await self._commit("commit", writes))

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        (standing,) = await self._commit("admit", [Admit(header, tuple(entries))])
        return standing.run_id

    async def append(
        self,
        run_id: RunId,
        after: Head,
        entries: Sequence[Entry],
        change: HeaderChange = UNCHANGED,
        lease: Lease | None = None,
    ) -> Head:
        (standing,) = await self._commit("append", [Append(run_id, after, tuple(entries), change, lease)])
        return standing.head

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        checks.check_read(after, limit)
        return await self._read("read", lambda driver: self._runs.read(driver, run_id, after, limit))

    async def get_run(self, run_id: RunId) -> RunHeader:
        return await self._read("get_run", lambda driver: self._runs.get_run(driver, run_id))

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ANY_RUN,
        request_id: str | None = None,
    ) -> Claims:
        checks.check_claim(limit, lease_seconds, only, request_id)
        request = ClaimRequest(worker_id, limit, lease_seconds, only, request_id)
        return await self._write("claim", lambda driver: self._leases.claim(driver, request, self._now()))

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        checks.check_lease_seconds(lease_seconds)
        named = tuple(leases)
        return await self._write(
            "renew", lambda driver: self._leases.renew(driver, named, lease_seconds, self._now())
        )

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        checks.check_release(ready_at, after)
        await self._write(
            "release", lambda driver: self._leases.release(driver, lease, ready_at, after, self._now())
        )

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return self._changes(tuple(run_ids), ready=ready)

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        self._require_writable()
        self._open()
        return await asyncio.to_thread(self._database.migrate, phase, self._now(), plan=plan)

    async def close(self) -> None:
        self._closed = True
        handle, self._handle = self._handle, None
        if handle is not None and not handle.is_inherited:
            await handle.close()

    # --- how an operation reaches its thread

    async def _commit(self, operation: str, writes: Sequence[Write]) -> tuple[Standing, ...]:
        checks.check_commit(writes)
        size = sum(len(entry.body) for write in writes for entry in write.entries)
        kept = tuple(writes)
        return await self._write(operation, lambda driver: self._runs.commit(driver, kept, self._now()), size)

    async def _write(self, operation: str, work: Work[Outcome[T]], size: int = 0) -> T:
        self._require_writable()
        return (await self._open().writer.submit(operation, work, size)).answer

    async def _read(self, operation: str, work: Work[T]) -> T:
        return await self._open().readers.submit(operation, work)

    @asynccontextmanager
    async def _changes(self, run_ids: Collection[RunId], *, ready: bool) -> AsyncGenerator[Watch]:
        async with self._open().watches.watch(run_ids, ready=ready) as watch:
            yield watch

    def _now(self) -> datetime:
        """Asked inside the transaction: the lock may have been waited for."""
        return self.clock.now()

    def _require_writable(self) -> None:
        if self._read_only:
            raise StoreError("this store is read-only; open one without read_only=True to write")

    def _open(self) -> Handle:
        """The handle of this process and loop; a new one after a fork, and after a loop that was closed."""
        if self._closed:
            raise StoreError("closed: this SQLiteStore was closed; open another one")
        handle = self._handle
        if handle is not None and handle.serves_here():
            return handle
        self._handle = Handle(self._database, self._lookout, self.clock, self._readers)
        finalize(self, self._handle.stop)
        return self._handle


def checked_readers(readers: int) -> int:
    """How many read connections a store may have."""
    if not 1 <= readers <= 64:
        raise ValueError(f"a store has 1 to 64 readers, not {readers}")
    return readers

"""The store in one SQLite file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime
from functools import cache
from types import TracebackType
from typing import Literal, Self

from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from psych_runtime_core.clock import Clock, SystemClock
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports import checks
from psych_runtime_core.ports.claims import ANY_RUN, ClaimFilter, ClaimRequest, Claims, Renewed
from psych_runtime_core.ports.queries import Page, RunQuery
from psych_runtime_core.ports.reports import MigrationReport, StoreCheck, StoreStats
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.ports.writes import UNCHANGED, Admit, Append, HeaderChange, Write
from psych_runtime_core.records import Codec, Entry, Head, PlainCodec
from psych_runtime_core.version import Version
from psych_runtime_sql.admissions import Standing, Unfinished
from psych_runtime_sql.blobs import SqlBlobStore
from psych_runtime_sql.kv import SqlKeyValue
from psych_runtime_sql.leases import Leases
from psych_runtime_sql.live import SqlLive
from psych_runtime_sql.migrator import Migrator
from psych_runtime_sql.operations import Operations
from psych_runtime_sql.purge import Purge
from psych_runtime_sql.sweeps import PART_BYTES
from psych_runtime_sqlite.access import FileAccess, in_time
from psych_runtime_sqlite.callers import Caller, CallersConnection
from psych_runtime_sqlite.database import MIGRATION_SECONDS, Database, path_of
from psych_runtime_sqlite.health import CHECK_SECONDS, health
from psych_runtime_sqlite.joined import JoinedStore
from psych_runtime_sqlite.vacuum import give_back
from psych_runtime_sqlite.watches import Wanted

SWEEPING_SECONDS = 60.0

_DIALECT = sqlite_dialect(paramstyle="qmark")


@cache
def _operations() -> Operations:
    """All statements, compiled. That takes a tenth of a second, so a process does it once."""
    return Operations(_DIALECT)


class SQLiteStore:
    """A `Store` in one file, for any number of processes of one machine. Call `migrate()` once.

    With `synchronous="full"` an acknowledged write survives `kill -9` and power loss; with `"normal"` it
    survives `kill -9`, and power loss may take the last commits. `busy_seconds` is how long other processes
    are waited for, `operation_seconds` how long a call may take (a purge, an erasure and a migration 60 s),
    `readers` how many calls may read at once. One store serves one event loop at a time.
    No other code of the process may open and close the file meanwhile: that drops the store's locks.
    """

    def __init__(  # noqa: PLR0913 - the options of a public constructor, all but one by name
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["full", "normal"] = "full",
        busy_seconds: float = 10.0,
        operation_seconds: float = 10.0,
        readers: int = 4,
        codec: Codec | None = None,
        clock: Clock | None = None,
        read_only: bool = False,
    ) -> None:
        operations = _operations()
        self.codec: Codec = codec or PlainCodec()
        self.clock: Clock = clock or SystemClock()
        self._database = Database(
            path_of(path), Migrator(_DIALECT), synchronous, busy_seconds, operation_seconds, read_only
        )
        access = FileAccess(self._database, operations.lookout, self.clock, checked_readers(readers))
        self._access, self._operations = access, operations
        self._leases = Leases(operations.statements, operations.lookout)
        self._purge = Purge(access, operations, self.clock)
        self.blobs = SqlBlobStore(access, operations, self.clock)
        self.kv = SqlKeyValue(access, operations.values, self.clock)
        self.live = SqlLive(
            access,
            operations.texts,
            self.clock,
            lambda run_id: access.handle().watches.watch(Wanted(texts=frozenset({run_id}))),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def put_version(self, version: Version) -> Version:
        return await self._access.write(
            "put_version", lambda driver: self._operations.versions.put(driver, version, self._now())
        )

    async def get_version(self, version_hash: VersionHash) -> Version:
        return await self._access.read(
            "get_version", lambda driver: self._operations.versions.get(driver, version_hash)
        )

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        return tuple(standing.head for standing in await self._commit("commit", writes))

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        write = Admit(header, tuple(entries))
        if checks.fits_one_commit(write):
            return (await self._commit("admit", [write]))[0].run_id
        checks.check_commit([write])
        while True:
            standing = await self._access.write(
                "admit",
                lambda driver: self._operations.past.step(driver, write, self._now()),
                PART_BYTES,
            )
            if standing is not None:
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
        return await self._access.read(
            "read", lambda driver: self._operations.runs.read(driver, run_id, after, limit)
        )

    async def get_run(self, run_id: RunId) -> RunHeader:
        return await self._access.read(
            "get_run", lambda driver: self._operations.runs.get_run(driver, run_id)
        )

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        return await self._access.read(
            "find_runs", lambda driver: self._operations.finder.page(driver, query, cursor)
        )

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ANY_RUN,
        request_id: str | None = None,
    ) -> Claims:
        request = ClaimRequest(worker_id, limit, lease_seconds, only, request_id)
        checks.check_claim(request)
        return await self._access.write(
            "claim", lambda driver: self._leases.claim(driver, request, self._now())
        )

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        checks.check_lease_seconds(lease_seconds)
        named = tuple(leases)
        return await self._access.write(
            "renew", lambda driver: self._leases.renew(driver, named, lease_seconds, self._now())
        )

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        checks.check_release(ready_at, after)
        await self._access.write(
            "release", lambda driver: self._leases.release(driver, lease, ready_at, after, self._now())
        )

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return self._changes(tuple(run_ids), ready=ready)

    async def purge(self, query: RunQuery, *, dry_run: bool = False) -> tuple[RunHeader, ...]:
        checks.check_conditions(query)
        async with in_time(SWEEPING_SECONDS, "purge"):
            if dry_run:
                return tuple(await self._purge.doomed(query))
            self._access.require_writable()
            gone = await self._purge.purge(query)
            # The Runs are gone. The next purge shortens the file, too.
            with suppress(StoreError):
                await give_back(self._access)
            return gone

    async def erase(self, query: RunQuery) -> int:
        checks.check_conditions(query)
        self._access.require_writable()
        async with in_time(SWEEPING_SECONDS, "erase"):
            return await self._purge.erase(query)

    async def stats(self, *, tenant: str | None = None, top: int = 20) -> StoreStats:
        checks.check_stats(top)
        return await self._access.read(
            "stats", lambda driver: self._operations.stats.of(driver, tenant, top, self._now())
        )

    async def check(self) -> StoreCheck:
        self._access.handle()
        async with in_time(CHECK_SECONDS, "check", "none"):
            return await asyncio.to_thread(health, self._database, self._operations)

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        if not plan:
            self._access.require_writable()
        self._access.handle()
        async with in_time(MIGRATION_SECONDS, "migrate"):
            return await asyncio.to_thread(self._database.migrate, phase, self._now(), plan=plan)

    async def close(self) -> None:
        await self._access.close()

    def within(self, connection: CallersConnection) -> Store:
        """A view that begins Runs in a transaction of the caller's: they stand or fall with it.

        `connection` is one to this very file, of `sqlite3` or of SQLAlchemy. The view never commits; its Runs
        are seen and claimed once the caller has. Only `dispatch` may be called on it, of Versions that are
        stored: all else is `StoreError`. The transaction holds the only write lock, so keep it short.
        """
        self._access.handle()
        self._access.require_writable()
        return JoinedStore(self, Caller(self._database, connection), self._operations)

    async def _commit(self, operation: str, writes: Sequence[Write]) -> tuple[Standing, ...]:
        checks.check_commit(writes)
        size, kept = checks.commit_bytes(writes), tuple(writes)
        while True:
            try:
                return await self._access.write(
                    operation, lambda driver: self._operations.runs.commit(driver, kept, self._now()), size
                )
            except Unfinished as left:
                await self._purge.finish([left.mark])

    @asynccontextmanager
    async def _changes(self, run_ids: Collection[RunId], *, ready: bool) -> AsyncGenerator[Watch]:
        async with self._access.handle().watches.watch(Wanted(frozenset(run_ids), ready=ready)) as watch:
            yield watch

    def _now(self) -> datetime:
        """Asked inside the transaction: the lock may have been waited for."""
        return self.clock.now()


def checked_readers(readers: int) -> int:
    """How many read connections a store may have."""
    if not 1 <= readers <= 64:
        raise ValueError(f"a store has 1 to 64 readers, not {readers}")
    return readers

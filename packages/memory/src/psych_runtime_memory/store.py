"""The store of one process: the port over dicts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from platform import python_version
from types import TracebackType
from typing import Literal, Self

from anyio.lowlevel import checkpoint

from psych_runtime_core.clock import Clock, SystemClock
from psych_runtime_core.errors import VersionNotFound
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports import checks
from psych_runtime_core.ports.claims import ANY_RUN, ClaimFilter, ClaimRequest, Claims, Renewed
from psych_runtime_core.ports.queries import Page, RunQuery
from psych_runtime_core.ports.reports import MigrationReport, StoreCheck, StoreStats
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.ports.writes import UNCHANGED, Admit, Append, HeaderChange, Write
from psych_runtime_core.records import Codec, Entry, Head, PlainCodec
from psych_runtime_core.version import Version
from psych_runtime_memory.blobs import BlobsOfStore, InMemoryBlobStore
from psych_runtime_memory.gate import Gate
from psych_runtime_memory.kv import InMemoryKeyValue
from psych_runtime_memory.live import InMemoryLive
from psych_runtime_memory.runs import Runs
from psych_runtime_memory.watches import Watches


class InMemoryStore:
    """A `Store` that is gone with its process.

    Each method is one critical section behind one checkpoint of the loop, so it may be used from several
    loops and threads. `clock` drives leases and timers.
    """

    def __init__(self, *, codec: Codec | None = None, clock: Clock | None = None) -> None:
        self.codec: Codec = codec or PlainCodec()
        self.clock: Clock = clock or SystemClock()
        self._gate, self._watches = Gate(), Watches(self.clock)
        self._headers: dict[RunId, RunHeader] = {}
        self.live = InMemoryLive(self.clock, self._headers)
        self.blobs: InMemoryBlobStore = BlobsOfStore(self._gate, self.clock)
        self.kv = InMemoryKeyValue(self._gate, self.clock)
        self._runs = Runs(self._headers, self._watches, self.live)
        self._versions: dict[VersionHash, bytes] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def put_version(self, version: Version) -> Version:
        async with self._gate.alone():
            stored = self._versions.get(version.hash)
            if stored is None:
                stored = replace(version, published_at=self.clock.now()).encode()
                checks.check_version(stored)
                self._versions[version.hash] = stored
        return Version.decode(stored)

    async def get_version(self, version_hash: VersionHash) -> Version:
        async with self._gate.alone():
            if version_hash not in self._versions:
                raise VersionNotFound(version_hash)
            return Version.decode(self._versions[version_hash])

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        checks.check_commit(writes)
        async with self._gate.alone():
            return self._runs.commit(writes, self.clock.now())

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        write = Admit(header, tuple(entries))
        checks.check_commit([write])
        async with self._gate.alone():
            return self._runs.admit(write, self.clock.now())

    async def append(
        self,
        run_id: RunId,
        after: Head,
        entries: Sequence[Entry],
        change: HeaderChange = UNCHANGED,
        lease: Lease | None = None,
    ) -> Head:
        (head,) = await self.commit([Append(run_id, after, tuple(entries), change, lease)])
        return head

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        checks.check_read(after, limit)
        async with self._gate.alone():
            return self._runs.read(run_id, after, limit)

    async def get_run(self, run_id: RunId) -> RunHeader:
        async with self._gate.alone():
            return self._runs.header(run_id)

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        async with self._gate.alone():
            return self._runs.find(query, cursor)

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ANY_RUN,
        request_id: str | None = None,
    ) -> Claims:
        asked = ClaimRequest(worker_id, limit, lease_seconds, only, request_id)
        checks.check_claim(asked)
        async with self._gate.alone():
            return self._runs.claim(asked, self.clock.now())

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        checks.check_lease_seconds(lease_seconds)
        async with self._gate.alone():
            now = self.clock.now()
            return tuple(self._runs.renew(lease, lease_seconds, now) for lease in leases)

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        checks.check_release(ready_at, after)
        async with self._gate.alone():
            self._runs.release(lease, ready_at, after, self.clock.now())

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        self._gate.refuse_if_closed()
        return self._watches.watch(run_ids, ready=ready)

    async def purge(self, query: RunQuery, *, dry_run: bool = False) -> tuple[RunHeader, ...]:
        checks.check_conditions(query)
        async with self._gate.alone():
            return self._runs.purge(query, self.clock.now(), dry_run=dry_run)

    async def erase(self, query: RunQuery) -> int:
        checks.check_conditions(query)
        async with self._gate.alone():
            return self._runs.erase(query, self.clock.now())

    async def stats(self, *, tenant: str | None = None, top: int = 20) -> StoreStats:
        checks.check_stats(top)
        async with self._gate.alone():
            return self._runs.stats(tenant, top, self.clock.now())

    async def check(self) -> StoreCheck:
        began = self.clock.monotonic()
        async with self._gate.alone():
            latency = self.clock.monotonic() - began
        return StoreCheck(
            backend="memory",
            server_version=python_version(),
            schema="none",
            push=True,
            durability="none: what is stored ends with this process",
            clock_offset_seconds=0.0,
            latency_seconds=latency,
            warnings=("durability: all Runs are lost when this process ends; a store on disk keeps them",),
        )

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        """There is no schema: nothing to apply."""
        del phase, plan
        async with self._gate.alone():
            return MigrationReport(0, 0)

    async def close(self) -> None:
        await checkpoint()
        self._gate.close()
        self._watches.close()
        self.live.close()

"""A store in front of another, for those that watch or disturb what passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Literal, TypeVar

from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.store import (
    ANY_RUN,
    NOW,
    UNCHANGED,
    Append,
    ClaimFilter,
    Claims,
    HeaderChange,
    Lease,
    MigrationReport,
    Renewed,
    RunHeader,
    Store,
    Write,
)
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.records import Codec, Entry, Head
from psych_runtime_core.version import Version

T = TypeVar("T")


class StoreProxy:
    """Hands every call on, through `_through`; `append` goes as the `commit` that it is."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """One call of the method `name`, which happens when `call` is awaited."""
        del name
        return await call()

    @property
    def codec(self) -> Codec:
        return self._store.codec

    @property
    def clock(self) -> Clock:
        return self._store.clock

    async def put_version(self, version: Version) -> Version:
        return await self._through("put_version", lambda: self._store.put_version(version))

    async def get_version(self, version_hash: VersionHash) -> Version:
        return await self._through("get_version", lambda: self._store.get_version(version_hash))

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        return await self._through("commit", lambda: self._store.commit(writes))

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        return await self._through("admit", lambda: self._store.admit(header, entries))

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
        return await self._through("read", lambda: self._store.read(run_id, after, limit))

    async def get_run(self, run_id: RunId) -> RunHeader:
        return await self._through("get_run", lambda: self._store.get_run(run_id))

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ANY_RUN,
        request_id: str | None = None,
    ) -> Claims:
        return await self._through(
            "claim",
            lambda: self._store.claim(
                worker_id, limit=limit, lease_seconds=lease_seconds, only=only, request_id=request_id
            ),
        )

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        return await self._through("renew", lambda: self._store.renew(leases, lease_seconds=lease_seconds))

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        await self._through("release", lambda: self._store.release(lease, ready_at, after=after))

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return self._store.changes(run_ids, ready=ready)

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        return await self._through("migrate", lambda: self._store.migrate(phase, plan=plan))

    async def close(self) -> None:
        await self._store.close()

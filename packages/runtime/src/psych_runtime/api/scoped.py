"""A store as one Scope may use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Literal, NoReturn

from psych_runtime.api.arguments import of_kind
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import AccessDenied, StoreError
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
from psych_runtime_core.ports.watch import Hint, Watch
from psych_runtime_core.records import Codec, Entry, Head
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version

# So many Runs a view knows for its tenant's own, so that each is asked about once.
RUNS_KNOWN = 1_000


def scoped(store: Store, scope: Scope) -> Store:
    """A view of `store` that reaches the Runs of `scope`'s tenant alone and admits under `scope` alone.

    Every call and port method on it raises `AccessDenied` for another tenant's Run before its log is read.
    It claims no Runs and migrates nothing, and closing it leaves `store` open.
    """
    of_kind("scope", scope, Scope)
    if not isinstance(store, ScopedStore):
        return ScopedStore(store, scope)
    refuse_another_scope(store, scope)
    return store


def refuse_another_scope(store: ScopedStore, scope: Scope) -> None:
    """Raise `AccessDenied` unless `scope` is the store's own."""
    if scope != store.scope:
        raise AccessDenied("this store", "it is scoped, and another scope was named")


def refuse_another_tenant(header: RunHeader, scope: Scope) -> None:
    """Raise `AccessDenied` for a Run of another tenant, without naming that one."""
    if header.scope.tenant != scope.tenant:
        raise AccessDenied(f"run {header.run_id}", f"it is no Run of tenant {scope.tenant}")


class ScopedStore:
    """A `Store` that enforces a Scope."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self.scope = scope
        self._store = store
        self._ours: set[RunId] = set()

    @property
    def codec(self) -> Codec:
        return self._store.codec

    @property
    def clock(self) -> Clock:
        return self._store.clock

    async def put_version(self, version: Version) -> Version:
        return await self._store.put_version(version)

    async def get_version(self, version_hash: VersionHash) -> Version:
        return await self._store.get_version(version_hash)

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        for write in writes:
            await self._allow_write(write)
        return await self._store.commit(writes)

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        self._allow_admission(header)
        return await self._store.admit(header, entries)

    async def append(
        self,
        run_id: RunId,
        after: Head,
        entries: Sequence[Entry],
        change: HeaderChange = UNCHANGED,
        lease: Lease | None = None,
    ) -> Head:
        await self.allow(run_id)
        return await self._store.append(run_id, after, entries, change, lease)

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        await self.allow(run_id)
        return await self._store.read(run_id, after, limit)

    async def get_run(self, run_id: RunId) -> RunHeader:
        header = await self._store.get_run(run_id)
        refuse_another_tenant(header, self.scope)
        if len(self._ours) == RUNS_KNOWN:
            self._ours.clear()
        self._ours.add(run_id)
        return header

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ANY_RUN,
        request_id: str | None = None,
    ) -> Claims:
        del worker_id, limit, lease_seconds, only, request_id
        _refuse("claims no Runs: give the Worker the store itself")

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        for lease in leases:
            await self.allow(lease.run_id)
        return await self._store.renew(leases, lease_seconds=lease_seconds)

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        await self.allow(lease.run_id)
        await self._store.release(lease, ready_at, after=after)

    @asynccontextmanager
    async def changes(self, run_ids: Collection[RunId] = (), *, ready: bool = False) -> AsyncGenerator[Watch]:
        if ready:
            _refuse("hints no ready work, which may be anybody's: watch the store itself")
        for run_id in run_ids:
            await self.allow(run_id)
        async with self._store.changes(run_ids) as watch:
            yield ScopedWatch(watch, self)

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        del phase, plan
        _refuse("is not migrated: migrate the store itself")

    async def close(self) -> None:
        """The store itself stays open for whoever opened it."""

    async def allow(self, run_id: RunId) -> None:
        """Raise `AccessDenied` unless the Run is the tenant's, `RunNotFound` when there is none."""
        if run_id not in self._ours:
            await self.get_run(run_id)

    async def _allow_write(self, write: Write) -> None:
        if isinstance(write, Append):
            await self.allow(write.run_id)
        else:
            self._allow_admission(write.header)

    def _allow_admission(self, header: RunHeader) -> None:
        if header.scope != self.scope:
            raise AccessDenied(f"run {header.run_id}", "this store admits Runs under its own scope alone")


class ScopedWatch:
    """A `Watch` on Runs of one tenant. What it was told to follow is judged before it says anything."""

    def __init__(self, watch: Watch, store: ScopedStore) -> None:
        self._watch, self._store = watch, store
        self._unjudged: set[RunId] = set()

    def follow(self, *run_ids: RunId) -> None:
        # Followed at once: what changes before the judgement would be missed.
        self._unjudged.update(run_ids)
        self._watch.follow(*run_ids)

    def unfollow(self, *run_ids: RunId) -> None:
        self._unjudged.difference_update(run_ids)
        self._watch.unfollow(*run_ids)

    def saw(self, run_id: RunId, seq: int) -> None:
        self._watch.saw(run_id, seq)

    async def wait(self, timeout_seconds: float) -> Hint:
        for run_id in tuple(self._unjudged):
            await self._store.allow(run_id)
            self._unjudged.discard(run_id)
        return await self._watch.wait(timeout_seconds)


def _refuse(why: str) -> NoReturn:
    raise StoreError(f"a scoped store {why}")

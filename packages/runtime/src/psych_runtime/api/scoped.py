"""A store as one Scope may use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TypeVar

from psych_runtime.api.arguments import of_kind
from psych_runtime.api.scoped_ports import ScopedKeyValue, ScopedLive, ScopedWatch
from psych_runtime.store_proxy import StoreProxy
from psych_runtime_core.errors import AccessDenied, StoreError
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.checks import check_conditions
from psych_runtime_core.ports.claims import Renewed
from psych_runtime_core.ports.kv import KeyValue
from psych_runtime_core.ports.live import LiveChannel
from psych_runtime_core.ports.queries import Page, RunQuery
from psych_runtime_core.ports.reports import StoreStats
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.ports.writes import Append, Write
from psych_runtime_core.records import Entry, Head
from psych_runtime_core.scope import Scope

T = TypeVar("T")
# So many Runs a view knows for its tenant's own, so that each is asked about once.
RUNS_KNOWN = 1_000


def scoped(store: Store, scope: Scope) -> Store:
    """A view of `store` that reaches what is `scope`'s tenant's alone and admits under `scope` alone.

    Every call and port method on it raises `AccessDenied` for another tenant's Run before its log is read.
    Searches, purges, erasures and statistics are of that tenant. It claims no Runs and migrates nothing,
    and closing it leaves `store` open.
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


def within(query: RunQuery, scope: Scope) -> RunQuery:
    """`query`, of the tenant's own Runs. Raises `AccessDenied` where it asks for another's."""
    return query.model_copy(update={"tenant": _own_tenant(query.tenant, scope)})


def _own_tenant(asked: str | None, scope: Scope) -> str:
    if asked not in {None, scope.tenant}:
        raise AccessDenied("these Runs", f"they are no Runs of tenant {scope.tenant}")
    return scope.tenant


_REFUSED = {
    "claim": "finds no work, which may be anybody's: make the Runtime with the store itself, and give"
    " Worker(runtime, tenants=…)",
    "migrate": "is not migrated: migrate the store itself",
}


def _refusal(name: str) -> StoreError:
    return StoreError(f"a scoped store {_REFUSED[name]}")


class ScopedStore(StoreProxy):
    """A `Store` that enforces a Scope."""

    def __init__(self, store: Store, scope: Scope) -> None:
        super().__init__(store)
        self.scope = scope
        self._ours: set[RunId] = set()

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        if name in _REFUSED:
            raise _refusal(name)
        return await call()

    @property
    def kv(self) -> KeyValue | None:
        values = self._store.kv
        return None if values is None else ScopedKeyValue(values, self.scope.tenant)

    @property
    def live(self) -> LiveChannel:
        return ScopedLive(self._store.live, self.allow)

    @property
    def blobs(self) -> None:
        """None: the key of a blob names any tenant, and nothing here would ask whose it is."""

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        for write in writes:
            if isinstance(write, Append):
                await self.allow(write.run_id)
            else:
                self.allow_admission(write.header)
        return await super().commit(writes)

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        self.allow_admission(header)
        return await super().admit(header, entries)

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        await self.allow(run_id)
        return await super().read(run_id, after, limit)

    async def get_run(self, run_id: RunId) -> RunHeader:
        header = await super().get_run(run_id)
        refuse_another_tenant(header, self.scope)
        if len(self._ours) == RUNS_KNOWN:
            self._ours.clear()
        self._ours.add(run_id)
        return header

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        return await super().find_runs(within(query, self.scope), cursor)

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        for lease in leases:
            await self.allow(lease.run_id)
        return await super().renew(leases, lease_seconds=lease_seconds)

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        await self.allow(lease.run_id)
        await super().release(lease, ready_at, after=after)

    @asynccontextmanager
    async def changes(self, run_ids: Collection[RunId] = (), *, ready: bool = False) -> AsyncGenerator[Watch]:
        if ready:
            raise _refusal("claim")
        for run_id in run_ids:
            await self.allow(run_id)
        async with super().changes(run_ids) as watch:
            yield ScopedWatch(watch, self.allow)

    async def purge(self, query: RunQuery, *, dry_run: bool = False) -> tuple[RunHeader, ...]:
        check_conditions(query)
        return await super().purge(within(query, self.scope), dry_run=dry_run)

    async def erase(self, query: RunQuery) -> int:
        check_conditions(query)
        return await super().erase(within(query, self.scope))

    async def stats(self, *, tenant: str | None = None, top: int = 20) -> StoreStats:
        return await super().stats(tenant=_own_tenant(tenant, self.scope), top=top)

    async def close(self) -> None:
        """The store itself stays open for whoever opened it."""

    async def allow(self, run_id: RunId) -> None:
        """Raise `AccessDenied` unless the Run is the tenant's, `RunNotFound` when there is none."""
        if run_id not in self._ours:
            await self.get_run(run_id)

    def allow_admission(self, header: RunHeader) -> None:
        """Raise `AccessDenied` for a Run of another Scope."""
        if header.scope != self.scope:
            parts = [part for part, theirs in header.scope if theirs != getattr(self.scope, part)]
            detail = f"this store admits Runs under its own scope alone, not with another {', '.join(parts)}"
            raise AccessDenied(f"run {header.run_id}", detail)

"""The store. Each method hands on to one in memory, under its rule: replace them one at a time."""

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from typing import Literal, Self

from psych_runtime import (
    NOW,
    Admit,
    Append,
    ClaimFilter,
    Claims,
    Entry,
    Head,
    HeaderChange,
    InMemoryStore,
    Lease,
    MigrationReport,
    NoLive,
    Page,
    PollingWatch,
    Renewed,
    RunHeader,
    RunId,
    RunQuery,
    StoreCheck,
    StoreError,
    StoreStats,
    Version,
    VersionHash,
    Watch,
    WorkerId,
)


class PsychProjectStore:
    """A `Store`: the log and the header of each Run, and Versions. Bodies come back byte for byte, unread."""

    def __init__(self, kept: InMemoryStore, *, read_only: bool = False) -> None:
        self._kept, self._read_only, self.codec, self.clock = kept, read_only, kept.codec, kept.clock
        # What a store may do without, beside waking those who watch: small values, live text, and blobs.
        self.kv, self.live, self.blobs = None, NoLive(), None

    @property
    def _ours(self) -> InMemoryStore:
        """Where writes go. Raises `StoreError` in a store that may only read."""
        if self._read_only:
            raise StoreError("the store is read-only: open it without read_only to write")
        return self._kept

    async def put_version(self, version: Version) -> Version:
        """Of two writers of one hash the first wins; what is stored is the answer, `published_at` and all."""
        return await self._ours.put_version(version)

    async def get_version(self, version_hash: VersionHash) -> Version:
        """As it was stored. Raises `VersionNotFound`."""
        return await self._kept.get_version(version_hash)

    async def commit(self, writes: Sequence[Admit | Append]) -> tuple[Head, ...]:
        """1 to 16 Runs of one tenant, logs and headers: all or none. What landed already returns."""
        return await self._ours.commit(writes)

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        """One Run for an id, and for a tenant's idempotency key, which outlives its Run by 30 days."""
        return await self._ours.admit(header, entries)

    async def append(
        self,
        run_id: RunId,
        after: Head,
        entries: Sequence[Entry],
        change: HeaderChange = HeaderChange(),
        lease: Lease | None = None,
    ) -> Head:
        """A commit of one: behind the head it names by seq and digest, under the lease that is live."""
        return await self._ours.append(run_id, after, entries, change, lease)

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Behind `after`, without a gap; at most `limit` and 8 MiB, one entry at least, none at the end."""
        return await self._kept.read(run_id, after, limit)

    async def get_run(self, run_id: RunId) -> RunHeader:
        """What the last commit left of it, in every process at once. Raises `RunNotFound`."""
        return await self._kept.get_run(run_id)

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        """Newest first, each once, whatever comes meanwhile. A cursor belongs to its query."""
        return await self._kept.find_runs(query, cursor)

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ClaimFilter(),
        request_id: str | None = None,
    ) -> Claims:
        """Each due Run to one Worker, under the next epoch; tenants take turns, by the store's own clock."""
        return await self._ours.claim(
            worker_id, limit=limit, lease_seconds=lease_seconds, only=only, request_id=request_id
        )

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        """An answer for each, in order. It waits for no row, and revives no lease that has expired."""
        return await self._ours.renew(leases, lease_seconds=lease_seconds)

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        """Until later only behind the head it was decided on, so that no wake-up is lost."""
        await self._ours.release(lease, ready_at, after=after)

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        """Hints where to look. This one asks again and again; a `Watch` of your own can be woken."""
        return PollingWatch(self, run_ids, ready=ready)

    async def purge(self, query: RunQuery, *, dry_run: bool = False) -> tuple[RunHeader, ...]:
        """Whole settled trees. They are gone to readers in one commit; the rest may go in slices."""
        return await (self._kept if dry_run else self._ours).purge(query, dry_run=dry_run)

    async def erase(self, query: RunQuery) -> int:
        """Out of all settled headers that match, past any `limit`, goes what they say of a person."""
        return await self._ours.erase(query)

    async def stats(self, *, tenant: str | None = None, top: int = 20) -> StoreStats:
        """Open Runs alone. No count walks more than 10 000 rows; one that stops there says `capped`."""
        return await self._kept.stats(tenant=tenant, top=top)

    async def check(self) -> StoreCheck:
        """How it does, asked once; it answers though the store is not migrated."""
        return replace(await self._kept.check(), backend="acme", push=False)

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        """Nothing else creates or alters a schema. Repeating it, or many at once, does no harm."""
        return await (self._kept if plan else self._ours).migrate(phase, plan=plan)

    async def close(self) -> None:
        """Closes what it opened, and does so twice. Every other call is a `StoreError` from then on."""
        await self._kept.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

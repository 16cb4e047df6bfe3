"""The store: the log of each Run, one header per Run, Versions, and small values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Literal, Protocol

from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.claims import ANY_RUN, ClaimFilter, Claims, Renewed
from psych_runtime_core.ports.kv import KeyValue
from psych_runtime_core.ports.live import LiveChannel
from psych_runtime_core.ports.queries import Page, RunQuery
from psych_runtime_core.ports.reports import MigrationReport, StoreCheck, StoreStats
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.ports.writes import UNCHANGED, HeaderChange, Write
from psych_runtime_core.records import Codec, Entry, Head
from psych_runtime_core.version import Version


class Store(Protocol):
    """The log of each Run, one header per Run, and Versions: the queue, the lock, the clock of leases.

    Every method may raise `StoreUnavailable`, a closed store `StoreError`. `ValueError` is the caller's
    own mistake and comes before anything is written.
    """

    @property
    def codec(self) -> Codec: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def kv(self) -> KeyValue | None: ...
    @property
    def live(self) -> LiveChannel: ...
    @property
    def blobs(self) -> BlobStore | None: ...

    async def put_version(self, version: Version) -> Version:
        """Store a Version and return what is stored: of two writers of one hash the first wins."""
        ...

    async def get_version(self, version_hash: VersionHash) -> Version:
        """The Version of this hash. Raises `VersionNotFound`."""
        ...

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        """1 to 16 writes, each on another Run, all of one tenant: all or none. The head each leaves, in turn.

        A commit that landed already returns as the first time. A rest without entries cannot land twice, and
        is refused for its lease and its head like any append. Raises `EntryTooLarge`, `RunNotFound`,
        `LeaseLost`, `RunAlreadySettled`, `SeqConflict`, `IdempotencyConflict`, asked in this order of all
        writes; a refusal changes nothing.
        """
        ...

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        """Begin a Run; the id of the one that stands, by its id or its tenant's idempotency key.

        The log may be a past: of any length, with the epochs it had, settled or waiting to be woken. A key
        answers for 30 days past its Run. Raises `IdempotencyConflict` where the one that stands has another
        `request`.
        """
        ...

    async def append(
        self,
        run_id: RunId,
        after: Head,
        entries: Sequence[Entry],
        change: HeaderChange = UNCHANGED,
        lease: Lease | None = None,
    ) -> Head:
        """A commit of one `Append`."""
        ...

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Entries with a seq over `after`, in order, at most `limit` (1 to 10 000) and about 8 MiB.

        An empty page is the end. Raises `RunNotFound`.
        """
        ...

    async def get_run(self, run_id: RunId) -> RunHeader:
        """The header of a Run. Raises `RunNotFound`."""
        ...

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        """Runs that match, newest first, ties by id; what stays matches once, whatever comes meanwhile.

        Raises `ValueError` for a cursor of another query.
        """
        ...

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ANY_RUN,
        request_id: str | None = None,
    ) -> Claims:
        """Lease up to `limit` (1 to 100) Runs whose `ready_at` has come, for 1 to 3 600 s.

        Tenants take turns; inside a tenant: higher priority, then earlier `ready_at`, then `run_id`. With
        a `request_id` (at most 64 characters) under which leases are held, those are the answer.
        """
        ...

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        """Extend leases to `lease_seconds` from now; an answer for each, in order."""
        ...

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        """Give a Run back without a record. An instant, or None for "when woken", needs `after`.

        Raises `LeaseLost`, and `SeqConflict` when the head is not `after`.
        """
        ...

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        """Hints of changes to these Runs, and of ready work. Once entered, the subscription stands."""
        ...

    async def purge(self, query: RunQuery, *, dry_run: bool = False) -> tuple[RunHeader, ...]:
        """Remove up to `query.limit` settled trees whose root matches; the headers of all their Runs.

        Where no root is stored, the oldest Run of the tree is asked in its place. A tree stays whole while
        one of its Runs, or one that continues one of them, is not settled. Empty: nothing is left. `dry_run`
        removes nothing. Raises `ValueError` for a query without conditions.
        """
        ...

    async def erase(self, query: RunQuery) -> int:
        """Take out of the headers of all settled matches what they say about a person; of how many.

        `principal`, `labels` and `idempotency_key` become empty, `request` zero, live text goes.
        `query.limit` bounds nothing here; who was erased before is not counted. Raises `ValueError` for a
        query without conditions.
        """
        ...

    async def stats(self, *, tenant: str | None = None, top: int = 20) -> StoreStats:
        """The open Runs, of `tenant` alone if named, and of the `top` tenants whose ready work is oldest."""
        ...

    async def check(self) -> StoreCheck:
        """Ask the store once how it does. It also works on a store that is not migrated."""
        ...

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        """Bring the schema up to this release; `plan` only reports.

        `pre` works with the release that runs; `post` removes what it needed.
        """
        ...

    async def close(self) -> None:
        """Close what the store opened. Later calls raise `StoreError`, another `close` does nothing."""
        ...

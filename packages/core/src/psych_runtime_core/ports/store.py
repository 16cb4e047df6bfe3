"""The store: what it keeps of a Run, what it is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import Identifier, RunId, VersionHash, WorkerId, checked_identifier
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.records import GENESIS, Codec, Entry, Head
from psych_runtime_core.records.base import Count, Instant
from psych_runtime_core.records.facts import SuspendReason, TerminalState
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version

NOW = datetime.min.replace(tzinfo=UTC)
"""An instant before all others: ready at once."""

Waits = tuple[tuple[SuspendReason, int], ...]


class RunState(StrEnum):
    """What a Run is. `ready_at` alone says when somebody must look at it."""

    RUNNABLE = "runnable"
    RUNNING = "running"
    SUSPENDED = "suspended"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim on a Run that ends at `expires_at`, by the store's clock. The epoch is its fence."""

    run_id: RunId
    worker_id: WorkerId
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class HeaderFacts:
    """What the log says of a Run, whole, as its last writer folded it.

    `waits` are the open Waits, each with the seq of its `suspended`; `pending` counts queue entries not
    yet used; `parked`: every lane waits; `stopping`: an abort is recorded.
    """

    version_hash: VersionHash
    deadline_at: datetime | None = None
    parked: bool = False
    waits: Waits = ()
    pending: int = 0
    stopping: bool = False
    attempt_count: int = 0


class RunHeader(BaseModel):
    """A Run as its store knows it. `head` is always the last entry of its log.

    `request` is the digest by which a repeated admission is judged; `epoch` counts the claims so far;
    `lease` is present also when it has expired; `crashes` counts expired leases that were taken over
    since an effect last ended.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    run_id: Annotated[RunId, AfterValidator(checked_identifier)]
    scope: Scope
    name: str
    request: Annotated[bytes, Field(min_length=32, max_length=32)]
    idempotency_key: Identifier | None = None
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    root_run_id: Annotated[RunId, AfterValidator(checked_identifier)]
    created_at: Instant
    settled_at: Instant | None = None
    terminal: TerminalState | None = None
    head: Head
    ready_at: Instant | None = None
    epoch: Count = 0
    lease: Lease | None = None
    crashes: Count = 0
    version_hash: VersionHash
    deadline_at: Instant | None = None
    parked: bool = False
    waits: Waits = ()
    pending: Count = 0
    stopping: bool = False
    attempt_count: Count = 0

    @property
    def state(self) -> RunState:
        if self.terminal is not None:
            return RunState.SETTLED
        if self.lease is not None:
            return RunState.RUNNING
        return RunState.SUSPENDED if self.parked else RunState.RUNNABLE

    @property
    def facts(self) -> HeaderFacts:
        """The facts as they stand: what a writer that does not fold carries on."""
        return HeaderFacts(
            version_hash=self.version_hash,
            deadline_at=self.deadline_at,
            parked=self.parked,
            waits=self.waits,
            pending=self.pending,
            stopping=self.stopping,
            attempt_count=self.attempt_count,
        )


# --- what is asked of a store ------------------------------------------------------------------------


class HeaderAction(StrEnum):
    """What an append means for its Run.

    `KEEP`: the log grows. `WAKE`, from outside: somebody must look now. `REST`, by the lease holder: give
    the lease back and look again at `ready_at`. `SETTLE`, by the lease holder: the end.
    """

    KEEP = "keep"
    WAKE = "wake"
    REST = "rest"
    SETTLE = "settle"


@dataclass(frozen=True, slots=True)
class HeaderChange:
    """How an append changes the header.

    `ready_at` goes with `REST` (past: at once; None: when woken), `terminal` with `SETTLE`. `facts=None`
    leaves the facts. `progress`: an effect of this Attempt ends in this commit, so `crashes` becomes 0.
    """

    action: HeaderAction = HeaderAction.KEEP
    ready_at: datetime | None = None
    terminal: TerminalState | None = None
    facts: HeaderFacts | None = None
    progress: bool = False


UNCHANGED = HeaderChange()


@dataclass(frozen=True, slots=True)
class Admit:
    """The write that begins a Run: its header, and its log from seq 1."""

    header: RunHeader
    entries: tuple[Entry, ...]

    @property
    def run_id(self) -> RunId:
        return self.header.run_id

    @property
    def after(self) -> Head:
        return GENESIS

    @property
    def head(self) -> Head:
        """The head it leaves."""
        return self.entries[-1].head if self.entries else GENESIS


@dataclass(frozen=True, slots=True)
class Append:
    """The write that extends a log behind `after`, under a lease or from outside."""

    run_id: RunId
    after: Head
    entries: tuple[Entry, ...]
    change: HeaderChange = UNCHANGED
    lease: Lease | None = None

    @property
    def head(self) -> Head:
        """The head it leaves."""
        return self.entries[-1].head if self.entries else self.after


Write = Admit | Append


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """What a claim leaves out: Versions this process cannot serve, and Runs. At most 1 000 of each."""

    skip_versions: frozenset[VersionHash] = frozenset()
    exclude: frozenset[RunId] = frozenset()


ANY_RUN = ClaimFilter()


# --- what it answers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """A Run, leased. `reclaimed`: its last lease had expired; the Worker that held it is gone or late."""

    header: RunHeader
    lease: Lease
    reclaimed: bool = False


@dataclass(frozen=True, slots=True)
class Claims:
    """The Runs that one claim took."""

    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Renewed:
    """What became of a lease.

    `kept`: `lease` has its new end, `head` is the log's present head. `busy`: as it was, ask again.
    `lost`: it is not the live one.
    """

    lease: Lease
    outcome: Literal["kept", "busy", "lost"]
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The schema levels before and after, and the names of the migrations applied and still to come."""

    from_: int
    to: int
    applied: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


class Store(Protocol):
    """The log of each Run, one header per Run, and Versions: the queue, the lock, the clock of leases.

    Every method may raise `StoreUnavailable`, a closed store `StoreError`. `ValueError` is the caller's
    own mistake and comes before anything is written.
    """

    @property
    def codec(self) -> Codec: ...
    @property
    def clock(self) -> Clock: ...

    async def put_version(self, version: Version) -> Version:
        """Store a Version and return what is stored: of two writers of one hash the first wins."""
        ...

    async def get_version(self, version_hash: VersionHash) -> Version:
        """The Version of this hash. Raises `VersionNotFound`."""
        ...

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        """1 to 16 writes, each on another Run, all of one tenant: all or none. The head each leaves.

        A commit that landed already returns as the first time. Raises `EntryTooLarge`, `RunNotFound`,
        `LeaseLost`, `RunAlreadySettled`, `SeqConflict`, `IdempotencyConflict`, asked in this order of all
        writes; a refusal changes nothing.
        """
        ...

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        """Begin a Run; the id of the one that stands, by its id or its tenant's idempotency key.

        Raises `IdempotencyConflict` where that one has another `request`.
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

    async def migrate(self, phase: Literal["pre", "post"] = "pre", *, plan: bool = False) -> MigrationReport:
        """Bring the schema up to this release; `plan` only reports.

        `pre` works with the release that runs; `post` removes what it needed.
        """
        ...

    async def close(self) -> None:
        """Close what the store opened. Later calls raise `StoreError`, another `close` does nothing."""
        ...

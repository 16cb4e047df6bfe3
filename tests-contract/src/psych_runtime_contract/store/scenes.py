"""Runs, logs and claims as the store tests need them."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from anyio import create_task_group

from psych_runtime.testing import clock
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.checks import MAX_WRITES
from psych_runtime_core.ports.claims import Claim, ClaimFilter
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import UNCHANGED, Admit, Append, HeaderAction, HeaderChange
from psych_runtime_core.records import GENESIS, Entry, Head
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_core.scope import Scope

START = clock.START
RUN, OTHER_RUN = RunId("run_a"), RunId("run_b")
WORKER, OTHER_WORKER = WorkerId("worker_a"), WorkerId("worker_b")
REQUEST, OTHER_REQUEST = b"\x01" * 32, b"\x02" * 32

COMMITS_AT_ONCE = 32
"""A store may gather what waits together."""

BRIEF = 1.0
"""Seconds: the shortest lease there is."""

WAKE = HeaderChange(HeaderAction.WAKE)
SETTLE = HeaderChange(HeaderAction.SETTLE, terminal=TerminalState.COMPLETED)
PROGRESS = HeaderChange(progress=True)


def rest(ready_at: datetime | None = None) -> HeaderChange:
    return HeaderChange(HeaderAction.REST, ready_at)


def entry(after: Head, body: bytes = b"body", *, epoch: int = 0, kind: str = "turn_started") -> Entry:
    """What follows `after` in a log."""
    digest = hashlib.sha256(after.digest + body).digest()
    return Entry(after.seq + 1, kind, START, epoch, body, digest)


def batch(after: Head, *bodies: bytes, epoch: int = 0, settles: bool = False) -> tuple[Entry, ...]:
    """Entries behind `after`, one for each body."""
    entries: list[Entry] = []
    for number, body in enumerate(bodies, 1):
        kind = "run_settled" if settles and number == len(bodies) else "turn_started"
        entries.append(entry(entries[-1].head if entries else after, body, epoch=epoch, kind=kind))
    return tuple(entries)


def admission(
    run_id: str = RUN, *, tenant: str = "acme", bodies: Iterable[bytes] = (b"admitted",), **also: Any
) -> Admit:
    """The beginning of a Run that is ready at once."""
    entries = batch(GENESIS, *bodies)
    fields: dict[str, Any] = {
        "run_id": run_id,
        "scope": Scope(tenant=tenant),
        "name": "agent",
        "request": REQUEST,
        "root_run_id": run_id,
        "created_at": START,
        "head": entries[-1].head,
        "ready_at": NOW,
        "version_hash": "version_a",
    }
    return Admit(RunHeader.model_validate(fields | also), entries)


def appending(
    header: RunHeader, *bodies: bytes, change: HeaderChange = UNCHANGED, lease: Lease | None = None
) -> Append:
    """An append behind the head of `header`."""
    settles = change.action is HeaderAction.SETTLE
    entries = batch(header.head, *(bodies or (b"more",)), epoch=lease.epoch if lease else 0, settles=settles)
    return Append(header.run_id, header.head, entries, change, lease)


def resting(run_id: str, after: Head, lease: Lease, change: HeaderChange | None = None) -> Append:
    """A rest that writes no entry."""
    return Append(RunId(run_id), after, (), change or rest(), lease)


async def admit(store: Store, run_id: str = RUN, **also: Any) -> RunHeader:
    """A stored Run."""
    write = admission(run_id, **also)
    await store.admit(write.header, write.entries)
    return await store.get_run(write.run_id)


async def claim(store: Store, worker_id: str = WORKER, **also: Any) -> Claim:
    """The one Run that a claim takes."""
    (taken,) = (await store.claim(WorkerId(worker_id), **also)).claims
    return taken


async def lapse(store: Store, time: StoreTime, worker_id: str = WORKER, **also: Any) -> Claim:
    """A claim whose lease has just ended."""
    taken = await claim(store, worker_id, lease_seconds=BRIEF, **also)
    await time.reaches(taken.lease.expires_at)
    return taken


def copies(write: Admit, *run_ids: str) -> Iterator[Admit]:
    """Runs that are equal but for their ids: to judge each anew takes the most of the time."""
    for run_id in map(RunId, run_ids):
        header = write.header.model_copy(update={"run_id": run_id, "root_run_id": run_id})
        yield replace(write, header=header)


async def admit_all(store: Store, *writes: Admit) -> None:
    """Stored Runs of one tenant, many at once."""
    batches = [writes[start : start + MAX_WRITES] for start in range(0, len(writes), MAX_WRITES)]
    for start in range(0, len(batches), COMMITS_AT_ONCE):
        async with create_task_group() as group:
            for together in batches[start : start + COMMITS_AT_ONCE]:
                group.start_soon(store.commit, together)


async def claimed_ids(store: Store, worker_id: str = WORKER, limit: int = 1, **also: Any) -> list[str]:
    """The ids of the Runs that a claim takes, in its order."""
    claims = await store.claim(WorkerId(worker_id), limit=limit, **also)
    return [each.header.run_id for each in claims.claims]


async def append(
    store: Store,
    run_id: str = RUN,
    *bodies: bytes,
    change: HeaderChange = UNCHANGED,
    lease: Lease | None = None,
) -> RunHeader:
    """A Run whose log has grown behind its present head."""
    header = await store.get_run(RunId(run_id))
    await store.commit([appending(header, *bodies, change=change, lease=lease)])
    return await store.get_run(RunId(run_id))


async def settle(store: Store, run_id: str = RUN) -> RunHeader:
    """A settled Run; it must be the one that is claimed next."""
    taken = await claim(store)
    return await append(store, run_id, change=SETTLE, lease=taken.lease)


async def everything(store: Store, *run_ids: str) -> list[tuple[RunHeader, tuple[Entry, ...]]]:
    """Headers and logs, to be compared before and after."""
    return [(await store.get_run(RunId(run_id)), await store.read(RunId(run_id))) for run_id in run_ids]


async def end(store: Store, lease: Lease, change: HeaderChange = SETTLE) -> RunHeader:
    """A Run whose holder has ended its lease with one more entry."""
    return await append(store, lease.run_id, change=change, lease=lease)


def without(*versions: str, runs: Iterable[str] = ()) -> ClaimFilter:
    """A filter that leaves these out."""
    return ClaimFilter(
        skip_versions=frozenset(map(VersionHash, versions)), exclude=frozenset(map(RunId, runs))
    )

"""What is told of a Run that stands in a list."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery, pages
from psych_runtime_core.ports.runs import Lease, Lifecycle, RunHeader, RunState
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records.facts import SuspendReason, TerminalState
from psych_runtime_core.scope import Scope


@dataclass(frozen=True, slots=True)
class OpenWait:
    """A Wait that nobody has answered, by the seq of the record that opened it."""

    reason: SuspendReason
    seq: int


@dataclass(frozen=True, slots=True)
class LogHead:
    """Where a log ends; the digest is in hex."""

    seq: int
    digest: str


@dataclass(frozen=True, slots=True)
class RunListed:
    """A Run as its header tells of it, but for the digest of what was asked."""

    run_id: RunId
    scope: Scope
    name: str
    version_hash: str
    lifecycle: Lifecycle
    state: RunState
    terminal: TerminalState | None
    created_at: datetime
    settled_at: datetime | None
    deadline_at: datetime | None
    ready_at: datetime | None
    idempotency_key: str | None
    priority: int
    parent_run_id: RunId | None
    root_run_id: RunId
    delegation_depth: int
    continues_run_id: RunId | None
    head: LogHead
    epoch: int
    lease: Lease | None
    crashes: int
    parked: bool
    waits: tuple[OpenWait, ...]
    pending: int
    stopping: bool
    blobs: bool
    attempt_count: int
    erased: bool


def listed(header: RunHeader) -> RunListed:
    """What a list tells of a Run."""
    told = {each.name: getattr(header, each.name) for each in fields(RunListed)}
    told["head"] = LogHead(header.head.seq, header.head.digest.hex())
    told["waits"] = tuple(OpenWait(reason, seq) for reason, seq in header.waits)
    return RunListed(**told)


def cells(header: RunHeader, now: datetime) -> Sequence[str]:
    """Id, agent, lifecycle, tenant and age."""
    return header.run_id, header.name, header.lifecycle, header.scope.tenant, age(header.created_at, now)


STATES = 2
"""Which of the cells is a state word."""


def age(then: datetime, now: datetime) -> str:
    """How long ago it was, in the greatest unit that fits."""
    seconds = max(int((now - then).total_seconds()), 0)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


async def each(store: Store, query: RunQuery) -> AsyncIterator[RunHeader]:
    """Every Run that matches, page by page."""
    async for page in pages(partial(store.find_runs, query)):
        for header in page.items:
            yield header


async def descendants(store: Store, run_id: RunId) -> AsyncIterator[RunHeader]:
    """Every Run under this one, the older generation first on each way down, and each once."""
    ways, told = [each(store, RunQuery(parent_run_id=run_id))], {run_id}
    while ways:
        child = await anext(ways[-1], None)
        if child is None:
            ways.pop()
        elif child.run_id not in told:
            told.add(child.run_id)
            yield child
            ways.append(each(store, RunQuery(parent_run_id=child.run_id)))

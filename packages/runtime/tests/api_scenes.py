"""Runs, logs and stores as the tests of the public calls need them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from psych_runtime import (
    AgentSpec,
    Clock,
    Entry,
    Head,
    HeaderChange,
    HeaderFacts,
    InMemoryStore,
    Lease,
    ModelRef,
    Record,
    RunHeader,
    RunId,
    Scope,
    Store,
    StoreUnavailable,
    Version,
    WorkerId,
    dispatch,
    open_store,
    records,
    send,
)
from psych_runtime.testing import FakeClock, LogBuilder
from psych_runtime_core.ports.writes import UNCHANGED, HeaderAction, Write
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.state.fold import apply, empty, facts_of

ACME, RIVAL = Scope(tenant="acme", principal="ada"), Scope(tenant="rival", principal="eve")
SPEC = AgentSpec(name="clerk", model=ModelRef(model="m"))
OTHER_SPEC = AgentSpec(name="clerk", model=ModelRef(model="other"))
VERSION = Version.of(SPEC)
RUN = RunId("run_test")
STORES = ("memory", "sqlite")


@asynccontextmanager
async def opened(kind: str, folder: Path, clock: Clock | None = None) -> AsyncGenerator[Store]:
    """An empty store of a kind."""
    url = "memory:" if kind == "memory" else f"sqlite:///{folder / 'psych.db'}"
    async with open_store(url, migrate=True, clock=clock) as store:
        yield store


def log(run_id: str = RUN, scope: Scope = ACME) -> LogBuilder:
    """The beginning of a Run of `VERSION`."""
    return LogBuilder(run_id, scope=scope, version_hash=VERSION.hash).admitted()


def asking(*tools: str, run_id: str = RUN) -> LogBuilder:
    """A Run that waits for an approval of each of these calls."""
    built = log(run_id).attempt().turn().model_started()
    built.model_finished(calls=[(tool, {"amount": at}) for at, tool in enumerate(tools)])
    for at in range(len(tools)):
        built.suspended(at)
    return built


async def stored(store: Store, built: LogBuilder) -> RunHeader:
    """The Run of a log, stored record by record as its writers would, and given back."""
    await store.put_version(VERSION)
    entries, run_id = built.entries(), built.run_id
    state, lease = empty(run_id), None
    for record, entry in zip(built.records, entries, strict=True):
        apply(state, record)
        if entry.seq == 1:
            await store.admit(_header(built, entry, facts_of(state)), [entry])
            continue
        if entry.epoch and lease is None:
            (claim,) = (await store.claim(WorkerId("worker-1"), lease_seconds=3_600)).claims
            lease = claim.lease
        change = HeaderChange(facts=facts_of(state))
        if isinstance(record, RunSettled):
            change = replace(change, action=HeaderAction.SETTLE, terminal=record.state)
        after = entries[entry.seq - 2].head
        await store.append(run_id, after, [entry], change, lease if entry.epoch else None)
    if lease is not None and state.settled is None:
        await store.release(lease)
    return await store.get_run(run_id)


def _header(built: LogBuilder, admitted: Entry, facts: HeaderFacts) -> RunHeader:
    return RunHeader(
        run_id=built.run_id,
        scope=built.scope,
        name=SPEC.name,
        request=bytes(32),
        root_run_id=built.run_id,
        created_at=built.start,
        head=admitted.head,
        ready_at=built.start,
        version_hash=facts.version_hash,
        deadline_at=facts.deadline_at,
    )


async def queued(store: Store, scope: Scope = ACME) -> RunId:
    """A Run that nobody has claimed."""
    return (await dispatch(store, SPEC, scope, input="hello")).run_id


async def types(store: Store, run_id: str = RUN) -> list[str]:
    """The types of all records of a Run."""
    return [record.type for record in await records(store, run_id)]


async def of_type(store: Store, kind: str, run_id: str = RUN) -> list[Record]:
    """The records of one type."""
    return [record for record in await records(store, run_id) if record.type == kind]


class CountingStore(InMemoryStore):
    """Counts the calls, and the entries that were read."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock=clock or FakeClock())
        self.calls: Counter[str] = Counter()
        self.entries_read = 0

    async def get_run(self, run_id: RunId) -> RunHeader:
        self.calls["get_run"] += 1
        return await super().get_run(run_id)

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        self.calls["read"] += 1
        page = await super().read(run_id, after, limit)
        self.entries_read += len(page)
        return page

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        self.calls["commit"] += 1
        return await super().commit(writes)

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        self.calls["admit"] += 1
        return await super().admit(header, entries)


class UnluckyStore(CountingStore):
    """Misbehaves at the next writes, one mishap each, then no more.

    `lost`: it lands, the answer does not come. `overtaken`: the same, and somebody writes behind it.
    `raced`: somebody writes first. `away`: nothing is written. `silent`: nothing is, and nobody can tell.
    """

    def __init__(self, *mishaps: str, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self.mishaps = list(mishaps)

    async def append(
        self,
        run_id: RunId,
        after: Head,
        entries: Sequence[Entry],
        change: HeaderChange = UNCHANGED,
        lease: Lease | None = None,
    ) -> Head:
        mishap = self.mishaps.pop(0) if self.mishaps else ""
        self._refuse(mishap)
        if mishap == "raced":
            await self.somebody_writes(run_id)
        head = await super().append(run_id, after, entries, change, lease)
        if mishap == "overtaken":
            await self.somebody_writes(run_id)
        if mishap in {"lost", "overtaken"}:
            raise StoreUnavailable("append", "the answer was lost")
        return head

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        mishap = self.mishaps.pop(0) if self.mishaps else ""
        self._refuse(mishap)
        run_id = await super().admit(header, entries)
        if mishap in {"lost", "overtaken"}:
            raise StoreUnavailable("admit", "the answer was lost")
        return run_id

    async def somebody_writes(self, run_id: RunId) -> None:
        """Somebody else's message lands, without a mishap."""
        mishaps, self.mishaps = self.mishaps, []
        await send(self, run_id, message="from somebody else")
        self.mishaps = mishaps

    @staticmethod
    def _refuse(mishap: str) -> None:
        if mishap == "away":
            raise StoreUnavailable("append", "it is away", "none")
        if mishap == "silent":
            raise StoreUnavailable("append", "it may be away")

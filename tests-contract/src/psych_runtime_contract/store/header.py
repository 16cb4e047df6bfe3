"""Each operation on a Run in each condition: what the header says after it, or that nothing changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import (
    PROGRESS,
    RUN,
    SETTLE,
    START,
    WAKE,
    WORKER,
    admit,
    append,
    appending,
    claim,
    claimed_ids,
    end,
    lapse,
    rest,
    resting,
    settle,
    without,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import LeaseLost, PsychError, RunAlreadySettled, SeqConflict
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.ports.runs import HeaderFacts, Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import UNCHANGED, HeaderChange
from psych_runtime_core.records import Head
from psych_runtime_core.records.facts import SuspendReason, TerminalState


@dataclass(frozen=True)
class Stage:
    """A store with one Run, its time, and an instant to come. `facts` are those that an append writes."""

    store: Store
    time: StoreTime
    later: datetime
    facts: HeaderFacts | None = None


# --- in which condition: brings a Run there, and gives the lease that the operation names -----------------

Condition = Callable[[Stage], Awaitable[Lease]]


async def ready(stage: Stage) -> Lease:
    await admit(stage.store)
    return Lease(RUN, WORKER, 1, stage.later)


async def due_later(stage: Stage) -> Lease:
    await admit(stage.store, ready_at=stage.later)
    return Lease(RUN, WORKER, 1, stage.later)


async def until_woken(stage: Stage) -> Lease:
    await admit(stage.store, ready_at=None, parked=True)
    return Lease(RUN, WORKER, 1, stage.later)


async def leased(stage: Stage) -> Lease:
    await admit(stage.store)
    return (await claim(stage.store)).lease


async def expired(stage: Stage) -> Lease:
    await admit(stage.store)
    return (await lapse(stage.store, stage.time)).lease


async def reclaimed(stage: Stage) -> Lease:
    """By the same Worker; the lease is the old one."""
    lease = await expired(stage)
    await claim(stage.store)
    return lease


async def settled(stage: Stage) -> Lease:
    await admit(stage.store)
    header = await settle(stage.store)
    return Lease(RUN, WORKER, header.epoch, stage.later)


# --- which operation ---------------------------------------------------------------------------------------

Operation = Callable[[Stage, Lease], Awaitable[object]]


def appends(change: HeaderChange, *, held: bool) -> Operation:
    async def operation(stage: Stage, lease: Lease) -> None:
        header, said = await stage.store.get_run(RUN), replace(change, facts=stage.facts)
        await stage.store.commit([appending(header, change=said, lease=lease if held else None)])

    return operation


async def rests_until(stage: Stage, lease: Lease) -> None:
    await appends(rest(stage.later), held=True)(stage, lease)


async def rests_without_entries(stage: Stage, lease: Lease) -> None:
    header = await stage.store.get_run(RUN)
    await stage.store.commit([resting(RUN, header.head, lease, replace(rest(), facts=stage.facts))])


async def claims(stage: Stage, lease: Lease) -> None:
    await stage.store.claim(WORKER)


async def renews(stage: Stage, lease: Lease) -> None:
    await stage.store.renew([lease], lease_seconds=100)


async def releases(stage: Stage, lease: Lease) -> None:
    await stage.store.release(lease)


def releases_until(ready_at: Callable[[Stage], datetime | None]) -> Operation:
    async def operation(stage: Stage, lease: Lease) -> None:
        header = await stage.store.get_run(RUN)
        await stage.store.release(lease, ready_at(stage), after=header.head)

    return operation


# --- what becomes of the header ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """The header before and after an operation that began at `since`."""

    before: RunHeader
    after: RunHeader
    stage: Stage
    since: datetime

    @property
    def at(self) -> datetime | None:
        """When the operation was done: `ready_at`, if it can be that."""
        return self.stage.time.told(self.after.ready_at, self.since)


Change = Callable[[Seen], Mapping[str, Any]]


def nothing(seen: Seen) -> Mapping[str, Any]:
    return {}


def now(seen: Seen) -> Mapping[str, Any]:
    return {"ready_at": seen.at}


def free_now(seen: Seen) -> Mapping[str, Any]:
    return {"ready_at": seen.at, "lease": None}


def free_later(seen: Seen) -> Mapping[str, Any]:
    return {"ready_at": seen.stage.later, "lease": None}


def asleep(seen: Seen) -> Mapping[str, Any]:
    return {"ready_at": None, "lease": None}


def ended(seen: Seen) -> Mapping[str, Any]:
    return {**asleep(seen), "terminal": TerminalState.COMPLETED, "settled_at": START}


def lasts(seconds: float, *, epochs: int = 1, crashes: int = 0) -> Change:
    """A lease of so many seconds from when the operation was done."""

    def change(seen: Seen) -> Mapping[str, Any]:
        duration = timedelta(seconds=seconds)
        end = seen.after.lease.expires_at if seen.after.lease else None
        began = seen.stage.time.told(end and end - duration, seen.since)
        epoch = seen.before.epoch + epochs
        lease = Lease(RUN, WORKER, epoch, began + duration) if began else None
        counts = {"epoch": epoch, "crashes": seen.before.crashes + crashes}
        return {"lease": lease, "ready_at": lease and lease.expires_at, **counts}

    return change


@dataclass(frozen=True)
class Row:
    """An operation, and by condition how it changes the header.

    Where a condition is left out, nothing changes: `otherwise` is raised, if it is not None.
    """

    operation: Operation
    allowed: Mapping[Condition, Change]
    otherwise: type[PsychError] | None
    writes: bool = True


def changed(before: RunHeader, after: RunHeader) -> dict[str, Any]:
    """The fields that have become something else."""
    return {name: value for name, value in after if value != getattr(before, name)}


UNSETTLED = (ready, due_later, until_woken, leased, expired, reclaimed)
UNMOVED: Mapping[Condition, Change] = dict.fromkeys(UNSETTLED, nothing)
WOKEN = {**UNMOVED, due_later: now, until_woken: now}
APPENDS = {
    "keep": Row(appends(UNCHANGED, held=False), UNMOVED, RunAlreadySettled),
    "wake": Row(appends(WAKE, held=False), WOKEN, RunAlreadySettled),
    "keep under a lease": Row(appends(UNCHANGED, held=True), {leased: nothing}, LeaseLost),
    "rest": Row(appends(rest(), held=True), {leased: asleep}, LeaseLost),
    "rest until later": Row(rests_until, {leased: free_later}, LeaseLost),
    "rest until the past": Row(appends(rest(START), held=True), {leased: free_now}, LeaseLost),
    "rest without entries": Row(rests_without_entries, {leased: asleep}, LeaseLost, writes=False),
    "settle": Row(appends(SETTLE, held=True), {leased: ended}, LeaseLost),
}
TABLE = {
    **APPENDS,
    "release": Row(releases, {leased: free_now}, LeaseLost, writes=False),
    "release until later": Row(
        releases_until(lambda stage: stage.later), {leased: free_later}, LeaseLost, writes=False
    ),
    "release until the past": Row(
        releases_until(lambda stage: START), {leased: free_now}, LeaseLost, writes=False
    ),
    "release until woken": Row(releases_until(lambda stage: None), {leased: asleep}, LeaseLost, writes=False),
    "renew": Row(renews, {leased: lasts(100, epochs=0)}, None, writes=False),
    "claim": Row(claims, {ready: lasts(30), expired: lasts(30, crashes=1)}, None, writes=False),
}
EACH_CASE = pytest.mark.parametrize(
    ("row", "condition"),
    [
        pytest.param(row, condition, id=f"{name}, {condition.__name__}")
        for name, row in TABLE.items()
        for condition in (*UNSETTLED, settled)
    ],
)
EACH_APPEND = pytest.mark.parametrize(
    ("row", "condition"),
    [
        pytest.param(row, condition, id=f"{name}, {condition.__name__}")
        for name, row in APPENDS.items()
        for condition in row.allowed
    ],
)
FACTS = HeaderFacts(
    VersionHash("version_b"),
    parked=True,
    waits=((SuspendReason.APPROVAL, 7), (SuspendReason.APPROVAL, 2**40)),
    pending=3,
    stopping=True,
    blobs=True,
    attempt_count=2,
)


class ClaimTable(StoreBase):
    """The header after each operation."""

    @EACH_CASE
    async def test_an_operation_does_what_the_table_says_or_nothing(
        self, store: Store, time: StoreTime, row: Row, condition: Condition
    ) -> None:
        stage = Stage(store, time, time.after(60))
        lease = await condition(stage)
        await time.passes(0.001)
        before, since = await store.get_run(RUN), time.now()
        if condition in row.allowed or row.otherwise is None:
            await row.operation(stage, lease)
        else:
            with pytest.raises(row.otherwise):
                await row.operation(stage, lease)
        after = await store.get_run(RUN)
        change = row.allowed.get(condition, nothing)(Seen(before, after, stage, since))
        expected = before.model_copy(update={**change, "head": after.head})
        assert changed(before, after) == changed(before, expected)
        written = condition in row.allowed and row.writes
        assert after.head.seq == before.head.seq + written

    async def test_an_old_instant_jumps_no_queue(self, store: Store, time: StoreTime) -> None:
        since = time.now()
        header = await admit(store, ready_at=START - timedelta(days=1))
        assert header.ready_at == time.told(header.ready_at, since)

    async def test_a_run_woken_twice_is_ready_since_the_first(self, store: Store, time: StoreTime) -> None:
        await admit(store, ready_at=None)
        first = await append(store, RUN, change=WAKE)
        await time.passes(0.001)
        assert (await append(store, RUN, change=WAKE)).ready_at == first.ready_at

    async def test_a_resting_append_may_be_empty(self, store: Store) -> None:
        header = await admit(store)
        lease = (await claim(store)).lease
        assert await store.append(RUN, header.head, [], rest(), lease) == header.head
        assert (await store.get_run(RUN)).lease is None

    @pytest.mark.parametrize(
        "ahead", [0, 1, 2], ids=["an overtaken head", "another log of that length", "a head to come"]
    )
    async def test_a_rest_without_entries_behind_another_head_changes_nothing(
        self, store: Store, ahead: int
    ) -> None:
        header = await admit(store)
        lease = (await claim(store)).lease
        woken = await append(store, RUN, change=WAKE)
        after = Head(header.head.seq + ahead, header.head.digest)
        with pytest.raises(SeqConflict) as caught:
            await store.append(RUN, after, [], rest(), lease)
        assert caught.value.head == woken.head
        assert await store.get_run(RUN) == woken

    @pytest.mark.parametrize("held", [False, True], ids=["from outside", "under a lease"])
    @pytest.mark.parametrize(
        "change", [UNCHANGED, WAKE, PROGRESS, SETTLE], ids=["keep", "wake", "progress", "settle"]
    )
    async def test_no_append_but_a_rest_may_be_empty(
        self, store: Store, change: HeaderChange, held: bool
    ) -> None:
        await admit(store)
        taken = await claim(store)
        with pytest.raises(ValueError):
            await store.append(RUN, taken.header.head, [], change, taken.lease if held else None)
        assert await store.get_run(RUN) == taken.header

    @EACH_APPEND
    async def test_an_append_replaces_the_facts_in_every_condition_that_allows_it(
        self, store: Store, time: StoreTime, row: Row, condition: Condition
    ) -> None:
        stage = Stage(store, time, time.after(60), FACTS)
        await row.operation(stage, await condition(stage))
        assert (await store.get_run(RUN)).facts == FACTS

    async def test_facts_are_replaced_whole_or_left(self, store: Store, time: StoreTime) -> None:
        header = await admit(store, pending=3, parked=True, blobs=True)
        assert (await append(store)).facts == header.facts
        facts = HeaderFacts(
            header.version_hash,
            deadline_at=time.after(60),
            waits=((SuspendReason.APPROVAL, 7), (SuspendReason.APPROVAL, 2**40)),
            pending=1_000,
            stopping=True,
            attempt_count=2,
        )
        assert (await append(store, change=HeaderChange(facts=facts))).facts == facts

    async def test_a_run_whose_version_has_changed_is_left_out_by_the_new_one(self, store: Store) -> None:
        await admit(store)
        await append(store, RUN, change=HeaderChange(facts=HeaderFacts(VersionHash("version_b"))))
        assert await claimed_ids(store, only=without("version_b")) == []
        assert await claimed_ids(store, only=without("version_a")) == [RUN]

    @pytest.mark.parametrize("change", [UNCHANGED, rest(), SETTLE], ids=["keep", "rest", "settle"])
    async def test_one_effect_that_ended_clears_the_crashes(
        self, store: Store, time: StoreTime, change: HeaderChange
    ) -> None:
        await admit(store)
        await lapse(store, time)
        taken = await claim(store)
        assert (await append(store, RUN, lease=taken.lease)).crashes == 1
        assert (await end(store, taken.lease, replace(change, progress=True))).crashes == 0

    async def test_a_holder_sees_the_head_that_a_wake_moved(self, store: Store) -> None:
        await admit(store)
        lease = (await claim(store)).lease
        woken = await append(store, RUN, change=WAKE)
        (renewed,) = await store.renew([lease])
        assert renewed.head == woken.head
        await end(store, lease, rest())

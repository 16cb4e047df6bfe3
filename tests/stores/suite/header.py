"""Each operation on a Run in each condition: what the header says after it, or that nothing changed."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from psych_runtime_core.errors import LeaseLost, PsychError, RunAlreadySettled, SeqConflict
from psych_runtime_core.ports.store import NOW, UNCHANGED, HeaderChange, HeaderFacts, Lease, Store
from psych_runtime_core.records.facts import SuspendReason, TerminalState
from tests.stores.suite.base import StoreBase
from tests.stores.suite.clock import START, ManualClock
from tests.stores.suite.scenes import (
    OTHER_RUN,
    PROGRESS,
    RUN,
    SETTLE,
    WAKE,
    WORKER,
    admission,
    admit,
    append,
    appending,
    claim,
    rest,
    settle,
)

Condition = Callable[[Store, ManualClock], Awaitable[Lease]]

LATER = START + timedelta(seconds=60)
TICK = 5
"""Seconds from a Run's admission to the operation on it; leases last 30."""
AT = START + timedelta(seconds=TICK)
EXPIRED = 40

# --- in which condition ------------------------------------------------------------------------------


async def ready(store: Store, clock: ManualClock) -> Lease:
    await admit(store)
    clock.advance(TICK)
    return Lease(RUN, WORKER, 1, LATER)


async def due_later(store: Store, clock: ManualClock) -> Lease:
    await admit(store, ready_at=LATER)
    clock.advance(TICK)
    return Lease(RUN, WORKER, 1, LATER)


async def until_woken(store: Store, clock: ManualClock) -> Lease:
    await admit(store, ready_at=None, parked=True)
    clock.advance(TICK)
    return Lease(RUN, WORKER, 1, LATER)


async def leased(store: Store, clock: ManualClock) -> Lease:
    await admit(store)
    lease = (await claim(store)).lease
    clock.advance(TICK)
    return lease


async def expired(store: Store, clock: ManualClock) -> Lease:
    await admit(store)
    lease = (await claim(store)).lease
    clock.advance(EXPIRED)
    return lease


async def reclaimed(store: Store, clock: ManualClock) -> Lease:
    """By the same Worker; the lease is the old one."""
    lease = await expired(store, clock)
    await claim(store)
    return lease


async def settled(store: Store, clock: ManualClock) -> Lease:
    await admit(store)
    header = await settle(store)
    clock.advance(TICK)
    return Lease(RUN, WORKER, header.epoch, LATER)


# --- which operation -----------------------------------------------------------------------------------


def appends(change: HeaderChange, *, held: bool) -> Callable[[Store, Lease], Awaitable[object]]:
    async def operation(store: Store, lease: Lease) -> None:
        header = await store.get_run(RUN)
        await store.commit([appending(header, change=change, lease=lease if held else None)])

    return operation


async def claims(store: Store, lease: Lease) -> None:
    await store.claim(WORKER)


async def renews(store: Store, lease: Lease) -> None:
    await store.renew([lease], lease_seconds=100)


async def releases(store: Store, lease: Lease) -> None:
    await store.release(lease)


keeps, keeps_held = appends(UNCHANGED, held=False), appends(UNCHANGED, held=True)
wakes = appends(WAKE, held=False)
rests, rests_until = appends(rest(), held=True), appends(rest(LATER), held=True)
settles = appends(SETTLE, held=True)

# --- what becomes of the header ------------------------------------------------------------------------


def lease_to(seconds: float, epoch: int) -> dict[str, Any]:
    end = START + timedelta(seconds=seconds)
    return {"ready_at": end, "lease": Lease(RUN, WORKER, epoch, end), "epoch": epoch}


def free(ready_at: datetime | None) -> dict[str, Any]:
    return {"ready_at": ready_at, "lease": None}


ENDED = {**free(None), "terminal": TerminalState.COMPLETED, "settled_at": START}
RECLAIMED = {**lease_to(EXPIRED + 30, 2), "crashes": 1}


@dataclass(frozen=True)
class Row:
    """An operation, and by condition either the fields it changes beside the head, or the refusal.

    Where a condition is left out, `otherwise` holds; `None`: nothing is raised and nothing changes.
    """

    operation: Callable[[Store, Lease], Awaitable[object]]
    allowed: Mapping[Condition, Mapping[str, Any]]
    otherwise: type[PsychError] | None


UNSETTLED = (ready, due_later, until_woken, leased, expired, reclaimed)
UNMOVED: Mapping[Condition, Mapping[str, Any]] = {each: {} for each in UNSETTLED}
TABLE = {
    "keep": Row(keeps, UNMOVED, RunAlreadySettled),
    "wake": Row(
        wakes,
        {**UNMOVED, due_later: {"ready_at": AT}, until_woken: {"ready_at": AT}},
        RunAlreadySettled,
    ),
    "keep under a lease": Row(keeps_held, {leased: {}}, LeaseLost),
    "rest": Row(rests, {leased: free(None)}, LeaseLost),
    "rest until later": Row(rests_until, {leased: free(LATER)}, LeaseLost),
    "settle": Row(settles, {leased: ENDED}, LeaseLost),
    "release": Row(releases, {leased: free(AT)}, LeaseLost),
    "renew": Row(renews, {leased: lease_to(TICK + 100, 1)}, None),
    "claim": Row(claims, {ready: lease_to(TICK + 30, 1), expired: RECLAIMED}, None),
}
CONDITIONS = (*UNSETTLED, settled)
EACH_CASE = pytest.mark.parametrize(
    ("row", "condition"),
    [
        pytest.param(row, condition, id=f"{name}, {condition.__name__}")
        for name, row in TABLE.items()
        for condition in CONDITIONS
    ],
)


class StoreHeader(StoreBase):
    """The header after each operation."""

    @EACH_CASE
    async def test_an_operation_does_what_the_table_says_or_nothing(
        self,
        store: Store,
        clock: ManualClock,
        row: Row,
        condition: Condition,
    ) -> None:
        lease = await condition(store, clock)
        before = await store.get_run(RUN)
        if condition in row.allowed or row.otherwise is None:
            await row.operation(store, lease)
        else:
            with pytest.raises(row.otherwise):
                await row.operation(store, lease)
        after = await store.get_run(RUN)
        assert after == before.model_copy(update={**row.allowed.get(condition, {}), "head": after.head})
        written = condition in row.allowed and row.operation not in {renews, releases, claims}
        assert after.head.seq == before.head.seq + written

    async def test_an_old_instant_jumps_no_queue(self, store: Store, clock: ManualClock) -> None:
        clock.advance(TICK)
        assert (await admit(store, ready_at=START)).ready_at == AT
        taken = await claim(store)
        rested = await append(store, RUN, change=rest(START), lease=taken.lease)
        assert rested.ready_at == AT

    async def test_a_run_woken_twice_is_ready_since_the_first(self, store: Store, clock: ManualClock) -> None:
        await admit(store, ready_at=None)
        first = await append(store, RUN, change=WAKE)
        clock.advance(TICK)
        assert (await append(store, RUN, change=WAKE)).ready_at == first.ready_at == START

    async def test_a_resting_append_may_be_empty(self, store: Store) -> None:
        header = await admit(store)
        lease = (await claim(store)).lease
        assert await store.append(RUN, header.head, [], rest(), lease) == header.head
        assert (await store.get_run(RUN)).lease is None

    async def test_facts_are_replaced_whole_or_left(self, store: Store) -> None:
        header = await admit(store, pending=3, parked=True)
        assert (await append(store)).facts == header.facts
        facts = HeaderFacts(
            header.version_hash,
            deadline_at=LATER,
            waits=((SuspendReason.APPROVAL, 7), (SuspendReason.APPROVAL, 2**40)),
            pending=1_000,
            stopping=True,
            attempt_count=2,
        )
        assert (await append(store, change=HeaderChange(facts=facts))).facts == facts

    async def test_crashes_count_expired_leases_that_were_taken_over(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        for crashes in range(3):
            taken = await claim(store)
            assert (taken.header.crashes, taken.reclaimed) == (crashes, crashes > 0)
            clock.advance(EXPIRED)

    async def test_rests_and_releases_are_no_crashes(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        await store.release((await claim(store)).lease)
        await append(store, RUN, change=rest(NOW), lease=(await claim(store)).lease)
        taken = await claim(store)
        assert (taken.header.crashes, taken.reclaimed, taken.lease.epoch) == (0, False, 3)

    async def test_a_release_forgives_no_crash(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        await claim(store)
        clock.advance(EXPIRED)
        await store.release((await claim(store)).lease)
        taken = await claim(store)
        assert (taken.header.crashes, taken.reclaimed) == (1, False)

    async def test_one_effect_that_ended_clears_the_crashes(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        await claim(store)
        clock.advance(EXPIRED)
        taken = await claim(store)
        assert (await append(store, RUN, lease=taken.lease)).crashes == 1
        assert (await append(store, RUN, change=PROGRESS, lease=taken.lease)).crashes == 0

    async def test_a_release_until_later_names_the_head_it_was_decided_on(self, store: Store) -> None:
        header = await admit(store)
        lease = (await claim(store)).lease
        for ready_at in (None, LATER):
            with pytest.raises(ValueError, match="head"):
                await store.release(lease, ready_at)
        await store.release(lease, LATER, after=header.head)
        assert (await store.get_run(RUN)).ready_at == LATER

    async def test_a_wake_while_a_run_is_released_is_not_lost(self, store: Store) -> None:
        header = await admit(store)
        lease = (await claim(store)).lease
        woken = await append(store, RUN, change=WAKE)
        with pytest.raises(SeqConflict) as caught:
            await store.release(lease, None, after=header.head)
        assert caught.value.head == woken.head
        assert (await store.get_run(RUN)).lease == lease

    async def test_a_settled_run_is_never_claimed(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        await settle(store)
        await store.commit([admission(OTHER_RUN)])
        clock.advance(10_000)
        assert (await claim(store)).header.run_id == OTHER_RUN

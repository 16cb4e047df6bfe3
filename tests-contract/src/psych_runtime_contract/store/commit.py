"""Commits: whole or not at all, refused in order, repeatable."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import (
    BRIEF,
    OTHER_REQUEST,
    OTHER_RUN,
    OTHER_WORKER,
    RUN,
    SETTLE,
    START,
    WORKER,
    admission,
    admit,
    append,
    appending,
    batch,
    claim,
    end,
    everything,
    resting,
    settle,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import (
    IdempotencyConflict,
    LeaseLost,
    RunAlreadySettled,
    RunNotFound,
    SeqConflict,
)
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Append, Write
from psych_runtime_core.records import GENESIS

Fault = Callable[[Store, str], Awaitable[Write]]


async def that_is_malformed(store: Store, run_id: str) -> Write:
    write = appending(await admit(store, run_id, ready_at=None))
    return replace(write, entries=(replace(write.entries[0], seq=9),))


async def to_no_run(store: Store, run_id: str) -> Write:
    return Append(RunId(run_id), GENESIS, batch(GENESIS, b"more"))


async def under_an_old_epoch(store: Store, run_id: str) -> Write:
    header = await admit(store, run_id)
    lease = (await claim(store)).lease
    return appending(header, lease=replace(lease, epoch=lease.epoch + 1))


async def without_entries_to_no_run(store: Store, run_id: str) -> Write:
    return resting(run_id, GENESIS, Lease(RunId(run_id), WORKER, 1, START))


async def without_entries_under_an_old_epoch(store: Store, run_id: str) -> Write:
    header = await admit(store, run_id)
    lease = (await claim(store)).lease
    return resting(run_id, header.head, replace(lease, epoch=lease.epoch + 1))


async def without_entries_behind_an_old_head(store: Store, run_id: str) -> Write:
    header = await admit(store, run_id)
    lease = (await claim(store)).lease
    await append(store, run_id, b"overtaken")
    return resting(run_id, header.head, lease)


async def to_a_settled_run(store: Store, run_id: str) -> Write:
    await admit(store, run_id)
    return appending(await settle(store, run_id))


async def behind_an_old_head(store: Store, run_id: str) -> Write:
    header = await admit(store, run_id, ready_at=None)
    await append(store, run_id, b"overtaken")
    return appending(header)


async def with_another_request(store: Store, run_id: str) -> Write:
    await admit(store, run_id, ready_at=None)
    return admission(run_id, request=OTHER_REQUEST, bodies=[b"again"])


MALFORMED = (that_is_malformed, ValueError)
FAULTS: list[tuple[Fault, type[Exception]]] = [
    (to_no_run, RunNotFound),
    (without_entries_to_no_run, RunNotFound),
    (under_an_old_epoch, LeaseLost),
    (without_entries_under_an_old_epoch, LeaseLost),
    (to_a_settled_run, RunAlreadySettled),
    (behind_an_old_head, SeqConflict),
    (without_entries_behind_an_old_head, SeqConflict),
    (with_another_request, IdempotencyConflict),
]
EACH_FAULT = pytest.mark.parametrize(
    ("fault", "error"), [pytest.param(*each, id=each[0].__name__) for each in FAULTS]
)
EACH_PAIR = pytest.mark.parametrize(
    ("sooner", "later", "error"),
    [
        pytest.param(sooner, later, error, id=f"{sooner.__name__}-{later.__name__}")
        for number, (sooner, error) in enumerate([MALFORMED, *FAULTS])
        for later, _ in FAULTS[number:]
    ],
)


class StoreCommit(StoreBase):
    """One commit, several Runs."""

    @pytest.mark.parametrize("count", [1, 2, 16])
    async def test_a_commit_writes_all_its_runs(self, store: Store, count: int) -> None:
        run_ids = [f"run_{number:02}" for number in range(count)]
        headers = [await admit(store, run_id) for run_id in run_ids]
        writes = [appending(header, b"one", b"two") for header in headers]
        heads = await store.commit(writes)
        assert heads == tuple(write.head for write in writes)
        for (header, log), write in zip(await everything(store, *run_ids), writes, strict=True):
            assert header.head == write.head
            assert log[1:] == write.entries

    async def test_heads_are_told_in_the_order_of_the_writes(self, store: Store) -> None:
        headers = [await admit(store, run_id) for run_id in ("run_b", "run_c", "run_a")]
        writes = [appending(header, header.run_id.encode()) for header in headers]
        for _ in ("written", "landed before"):
            assert await store.commit(writes) == tuple(write.head for write in writes)

    async def test_an_admission_and_an_append_are_one_commit(self, store: Store) -> None:
        header = await admit(store)
        await store.commit([appending(header), admission(OTHER_RUN)])
        assert [len(log) for _, log in await everything(store, RUN, OTHER_RUN)] == [2, 1]

    @EACH_FAULT
    @pytest.mark.parametrize("place", [0, 1, 2])
    async def test_a_refused_write_names_its_run_and_the_others_are_not_written(
        self, store: Store, fault: Fault, error: type[Exception], place: int
    ) -> None:
        refused = await fault(store, "run_refused")
        writes: list[Write] = [appending(await admit(store, run_id)) for run_id in (RUN, OTHER_RUN)]
        writes.insert(place, refused)
        stored = [RUN, OTHER_RUN] + ([] if error is RunNotFound else ["run_refused"])
        before = await everything(store, *stored)
        with pytest.raises(error) as caught:
            await store.commit(writes)
        assert getattr(caught.value, "run_id") == "run_refused"  # noqa: B009 - five types, one field
        assert await everything(store, *stored) == before

    @EACH_PAIR
    async def test_a_question_is_asked_of_every_write_before_the_next_question(
        self, store: Store, sooner: Fault, later: Fault, error: type[Exception]
    ) -> None:
        writes = [await later(store, RUN), await sooner(store, OTHER_RUN)]
        with pytest.raises(error):
            await store.commit(writes)
        with pytest.raises(error):
            await store.commit(writes[::-1])

    async def test_a_refusal_for_the_head_tells_the_stored_one(self, store: Store) -> None:
        header = await admit(store)
        grown = await append(store)
        with pytest.raises(SeqConflict) as caught:
            await store.commit([appending(header, b"late")])
        assert caught.value.head == grown.head

    @pytest.mark.parametrize("with_admission", [False, True], ids=["two appends", "an admission"])
    async def test_two_tenants_share_no_commit(self, store: Store, with_admission: bool) -> None:
        ours = await admit(store)
        theirs = admission(OTHER_RUN, tenant="globex")
        second: Write = theirs
        if not with_admission:
            second = appending(await admit(store, OTHER_RUN, tenant="globex"))
        with pytest.raises(ValueError, match="tenant"):
            await store.commit([appending(ours), second])
        assert await store.get_run(RUN) == ours

    async def test_a_key_among_several_writes_is_refused(self, store: Store) -> None:
        header = await admit(store)
        with pytest.raises(ValueError, match="key"):
            await store.commit([appending(header), admission(OTHER_RUN, idempotency_key="order")])

    async def test_a_commit_that_landed_is_repeated_without_effect(self, store: Store) -> None:
        writes = [appending(await admit(store)), appending(await admit(store, OTHER_RUN))]
        heads = await store.commit(writes)
        after = await everything(store, RUN, OTHER_RUN)
        assert await store.commit(writes) == heads
        assert await everything(store, RUN, OTHER_RUN) == after

    async def test_one_overtaken_log_does_not_hide_that_the_commit_landed(self, store: Store) -> None:
        writes = [appending(await admit(store)), appending(await admit(store, OTHER_RUN))]
        heads = await store.commit(writes)
        await append(store, RUN, b"overtakes")
        after = await everything(store, RUN, OTHER_RUN)
        assert await store.commit(writes) == heads
        assert await everything(store, RUN, OTHER_RUN) == after

    async def test_a_commit_that_landed_is_no_refusal_though_much_has_changed(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        taken = (await store.claim(WORKER, limit=2, lease_seconds=BRIEF)).claims
        writes = [appending(each.header, lease=each.lease) for each in taken]
        heads = await store.commit(writes)
        await time.reaches(taken[0].lease.expires_at)
        await end(store, (await claim(store, OTHER_WORKER)).lease)
        after = await everything(store, RUN, OTHER_RUN)
        assert await store.commit(writes) == heads
        assert await everything(store, RUN, OTHER_RUN) == after

    async def test_a_settling_commit_is_repeatable_though_its_lease_is_gone(self, store: Store) -> None:
        await admit(store)
        taken = await claim(store)
        write = appending(taken.header, change=SETTLE, lease=taken.lease)
        heads = await store.commit([write])
        assert await store.commit([write]) == heads

    async def test_opposite_orders_of_two_runs_neither_deadlock_nor_mix(self, store: Store) -> None:
        await admit(store)
        await admit(store, OTHER_RUN)
        for _ in range(20):
            await self._race(store)

    async def _race(self, store: Store) -> None:
        ours, theirs = await store.get_run(RUN), await store.get_run(OTHER_RUN)
        won: list[bytes] = []

        async def compete(body: bytes, *headers: RunHeader) -> None:
            with suppress(SeqConflict):
                await store.commit([appending(header, body) for header in headers])
                won.append(body)

        async with create_task_group() as group:
            group.start_soon(compete, b"one", ours, theirs)
            group.start_soon(compete, b"two", theirs, ours)
        lasts = [log[-1].body for _, log in await everything(store, RUN, OTHER_RUN)]
        assert lasts == won * 2

    async def test_a_reader_in_between_sees_no_half_of_a_commit(self, store: Store, second: Store) -> None:
        headers = [await admit(store), await admit(store, OTHER_RUN)]
        writing = True

        async def write() -> None:
            nonlocal headers, writing
            for _ in range(30):
                await store.commit([appending(header) for header in headers])
                headers = [await store.get_run(header.run_id) for header in headers]
            writing = False

        async with create_task_group() as group:
            group.start_soon(write)
            while writing:
                one, other = await second.get_run(RUN), await second.get_run(OTHER_RUN)
                assert other.head.seq >= one.head.seq
                assert len(await second.read(RUN)) >= other.head.seq

"""What the stores of this house answer alike, though the port leaves it to each."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.endings import of, over
from psych_runtime_contract.store.following import A_WHILE, Follower, chunk
from psych_runtime_contract.store.live import ASKED
from psych_runtime_contract.store.scenes import (
    OTHER_REQUEST,
    OTHER_WORKER,
    REQUEST,
    RUN,
    START,
    admission,
    admit,
    claim,
    claimed_ids,
    lapse,
    settle,
    without,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import IdempotencyConflict
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports import reports
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit
from psych_runtime_memory import InMemoryStore
from psych_runtime_memory import stats as memory_stats
from psych_runtime_sql import stats as sql_stats
from psych_runtime_sqlite import SQLiteStore


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncGenerator[tuple[Store, ...]]:
    """One of each kind, with clocks that stand at the same instant."""
    async with AsyncExitStack() as stack:
        file = SQLiteStore(tmp_path / "psych.db", synchronous="normal", clock=FakeClock())
        stores = (InMemoryStore(clock=FakeClock()), file)
        for store in stores:
            await stack.enter_async_context(store)
            await store.migrate()
        yield stores


# --- admissions beside Runs that are gone ----------------------------------------------------------------

GONE, OPEN, NEW = "gone", "open", "new"


@pytest.mark.parametrize("how", ["erase", "purge", "erase and purge"])
async def test_an_admission_beside_a_run_that_is_gone_is_answered_alike(
    stores: Sequence[Store], how: str
) -> None:
    runs, keys, requests = (GONE, OPEN, NEW), (GONE, OPEN, NEW, None), (REQUEST, OTHER_REQUEST)
    for number, (begins, run, key, request) in enumerate(product((over, admission), runs, keys, requests)):
        tenant = f"tenant_{number}"
        write = begins(f"{tenant}_{run}", tenant=tenant, idempotency_key=key, request=request)
        answers: list[object] = []
        for store in stores:
            await let_go(store, tenant, how)
            answers.append([await admitted(store, write), await committed(store, write), await ids_of(store)])
        assert answers[0] == answers[1], f"{begins.__name__} {run} with the key {key}"


async def let_go(store: Store, tenant: str, how: str) -> None:
    """A tenant with a Run that is gone, and an open one, each with a key of its own."""
    for begins, run in ((over, GONE), (admission, OPEN)):
        write = begins(f"{tenant}_{run}", tenant=tenant, idempotency_key=run)
        await store.admit(write.header, write.entries)
    if "erase" in how:
        assert await store.erase(of(f"{tenant}_{GONE}")) == 1
    if "purge" in how:
        assert len(await store.purge(of(f"{tenant}_{GONE}"))) == 1


async def admitted(store: Store, write: Admit) -> object:
    """The Run that stands, or what the admission conflicts with."""
    try:
        return await store.admit(write.header, write.entries)
    except IdempotencyConflict as conflict:
        return conflict.key, conflict.run_id, conflict.field


async def committed(store: Store, write: Admit) -> object:
    """Where the Run stands for which the same is committed, or what that conflicts with."""
    try:
        return await store.commit([write])
    except IdempotencyConflict as conflict:
        return conflict.key, conflict.run_id, conflict.field


async def ids_of(store: Store) -> set[RunId]:
    return {header.run_id for header in (await store.find_runs(RunQuery(limit=1_000))).items}


# --- counts ----------------------------------------------------------------------------------------------

MOST = 5


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        pytest.param({"ready": 5}, (5, 0, False), id="as many as are counted"),
        pytest.param({"ready": 6}, (5, 0, True), id="one more"),
        pytest.param({"ready": 3, "due": 3}, (5, 0, True), id="ready ones of two states"),
        pytest.param({"delayed": 6}, (0, 0, True), id="those that are counted as nothing are walked too"),
        pytest.param({"ready": 3, "delayed": 2, "parked": 5}, (3, 5, False), id="of each state so many"),
        pytest.param({"ready": 3, "delayed": 3}, (3, 0, True), id="a state is walked as one"),
    ],
)
async def test_where_a_count_stops_is_told_alike(
    stores: Sequence[Store],
    monkeypatch: pytest.MonkeyPatch,
    runs: Mapping[str, int],
    told: tuple[int, int, bool],
) -> None:
    for counting in (reports, memory_stats, sql_stats):
        monkeypatch.setattr(counting, "MOST_COUNTED", MOST)
    later = START + timedelta(seconds=600)
    kinds: dict[str, dict[str, object]] = {
        "ready": {},
        "due": {"parked": True},
        "delayed": {"ready_at": later},
        "parked": {"ready_at": later, "parked": True},
    }
    for store in stores:
        for kind, number in runs.items():
            for each in range(number):
                await admit(store, f"{kind}_{each}", **kinds[kind])
        for stats in (await store.stats(), await store.stats(tenant="acme")):
            assert stats.capped == told[2]
            # What is counted where a walk has ended is some of what there is.
            assert stats.capped or (stats.ready, stats.suspended) == told[:2]
            assert max(stats.ready, stats.suspended) <= MOST


async def test_a_run_whose_lease_expired_is_counted_alike_once_a_claim_has_passed_it_over(
    stores: Sequence[Store],
) -> None:
    counts: list[object] = []
    for store in stores:
        await admit(store, RUN)
        await lapse(store, StoreTime(store.clock))
        before = await store.stats()
        assert await claimed_ids(store, only=without(runs=[RUN])) == []
        after = await store.stats()
        counts.append((before.model_dump(exclude={"now"}), after.model_dump(exclude={"now"})))
    assert counts[0] == counts[1]


# --- live text -------------------------------------------------------------------------------------------


async def left(store: Store) -> set[str]:
    """What somebody who comes now can read of `RUN`."""
    time = StoreTime(store.clock)
    async with Follower(store.live, time) as follower:
        for _ in range(ASKED):
            await store.find_runs(of(RUN))
        await time.passes(A_WHILE)
        return set(follower.texts.values())


async def test_the_holder_alone_speaks_for_a_run_though_it_has_said_nothing_yet(
    stores: Sequence[Store],
) -> None:
    for store in stores:
        await admit(store, RUN)
        await lapse(store, StoreTime(store.clock))
        await claim(store, OTHER_WORKER)
        await store.live.publish([chunk(0, "first", epoch=1)])
        assert await left(store) == set()
        await store.live.publish([chunk(0, "mine", 5, epoch=2)])
        await store.live.clear(RUN)
        await store.live.publish([chunk(0, "late", epoch=1)])
        assert await left(store) == set()


async def test_after_its_end_nobody_speaks_for_a_run(stores: Sequence[Store]) -> None:
    for store in stores:
        await admit(store, RUN)
        await settle(store)
        await store.live.publish([chunk(0, "late")])
        assert await left(store) == set()


@pytest.mark.parametrize("call_seq", [None, 1])
async def test_of_a_run_that_is_not_stored_nothing_is_known_once_it_is_cleared(
    stores: Sequence[Store], call_seq: int | None
) -> None:
    for store in stores:
        time = StoreTime(store.clock)
        async with Follower(store.live, time) as follower:
            await store.live.publish([chunk(0, "second", epoch=2)])
            await follower.reads("second")
            await store.live.clear(RUN, call_seq)
            await store.live.publish([chunk(0, "first", 3, epoch=1)])
            async with Follower(store.live, time) as other:
                await other.reads("first", 3)
            assert follower.texts == {("main", 1, False): "second"}, "it has heard the newer one"

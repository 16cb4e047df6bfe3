"""Claims: one holder, taken in fair order, fenced by epochs, repeatable."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from anyio import create_task_group

from psych_runtime_core.errors import LeaseLost
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.store import NOW, ClaimFilter, Lease, Store
from tests.stores.suite.base import StoreBase
from tests.stores.suite.clock import START, ManualClock
from tests.stores.suite.scenes import (
    OTHER_RUN,
    OTHER_WORKER,
    RUN,
    SETTLE,
    WORKER,
    admit,
    append,
    claim,
    claimed_ids,
    rest,
    without,
)

SECOND = timedelta(seconds=1)


class StoreClaim(StoreBase):
    """Who gets which Run."""

    async def test_of_twelve_workers_one_gets_the_run(self, store: Store, another: Store) -> None:
        await admit(store)
        winners: list[str] = []

        async def compete(store: Store, number: int) -> None:
            winners.extend(await claimed_ids(store, f"worker_{number}"))

        async with create_task_group() as group:
            for number in range(12):
                group.start_soon(compete, another if number % 2 else store, number)
        assert winners == [RUN]

    async def test_no_worker_goes_empty_handed_beside_work(self, store: Store, another: Store) -> None:
        for number in range(12):
            await admit(store, f"run_{number}")
        taken: list[list[str]] = []

        async def compete(store: Store, number: int) -> None:
            taken.append(await claimed_ids(store, f"worker_{number}"))

        async with create_task_group() as group:
            for number in range(12):
                group.start_soon(compete, another if number % 2 else store, number)
        assert sorted(map(len, taken)) == [1] * 12
        assert len({run_id for ids in taken for run_id in ids}) == 12

    async def test_a_claim_takes_as_many_as_it_asks_for(self, store: Store) -> None:
        for number in range(7):
            await admit(store, f"run_{number}")
        assert await claimed_ids(store, limit=5) == [f"run_{number}" for number in range(5)]
        assert await claimed_ids(store, limit=5) == ["run_5", "run_6"]
        assert await claimed_ids(store, limit=5) == []

    async def test_a_claim_gives_the_header_and_the_lease_that_are_stored(self, store: Store) -> None:
        await admit(store)
        taken = await claim(store, lease_seconds=90)
        assert taken.header == await store.get_run(RUN)
        assert taken.lease == Lease(RUN, WORKER, 1, START + timedelta(seconds=90)) == taken.header.lease

    @pytest.mark.parametrize(
        "options",
        [
            {"limit": 0},
            {"limit": 101},
            {"lease_seconds": 0.5},
            {"lease_seconds": 3_601},
            {"request_id": "x" * 65},
            {"only": ClaimFilter(exclude=frozenset(RunId(f"run_{number}") for number in range(1_001)))},
        ],
        ids=lambda options: next(iter(options)),
    )
    async def test_a_claim_out_of_bounds_is_refused(self, store: Store, options: dict[str, Any]) -> None:
        await admit(store)
        with pytest.raises(ValueError, match=r"not|has"):
            await claim(store, **options)
        assert (await store.get_run(RUN)).epoch == 0

    # --- when -----------------------------------------------------------------------------------------

    async def test_a_run_is_claimed_at_its_very_microsecond(self, store: Store, clock: ManualClock) -> None:
        await admit(store, ready_at=START + SECOND)
        clock.advance(0.999_999)
        assert await claimed_ids(store) == []
        clock.advance(0.000_001)
        assert await claimed_ids(store) == [RUN]

    async def test_a_run_that_waits_for_a_wake_is_not_claimed(self, store: Store, clock: ManualClock) -> None:
        await admit(store, ready_at=None)
        clock.advance(10_000_000)
        assert await claimed_ids(store) == []

    async def test_a_lease_ends_at_its_very_microsecond(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        lease = (await claim(store, lease_seconds=1)).lease
        clock.advance(0.999_999)
        assert await claimed_ids(store, OTHER_WORKER) == []
        await append(store, RUN, lease=lease)
        clock.advance(0.000_001)
        with pytest.raises(LeaseLost):
            await append(store, RUN, lease=lease)
        assert await claimed_ids(store, OTHER_WORKER) == [RUN]

    # --- in which order -------------------------------------------------------------------------------

    async def test_inside_a_tenant_priority_comes_first_then_age_then_id(
        self, store: Store, clock: ManualClock
    ) -> None:
        for run_id, priority, seconds in [("a", 0, 2), ("b", 0, 1), ("c", 5, 3), ("d", -5, 0), ("e", 0, 1)]:
            await admit(store, run_id, priority=priority, ready_at=START + seconds * SECOND)
        clock.advance(10)
        assert await claimed_ids(store, limit=9) == ["c", "b", "e", "a", "d"]

    async def test_priority_counts_over_versions(self, store: Store) -> None:
        await admit(store, "a", version_hash="version_a")
        await admit(store, "b", version_hash="version_b", priority=1)
        await admit(store, "c", version_hash="version_a", priority=2)
        assert await claimed_ids(store, limit=3) == ["c", "b", "a"]

    async def test_a_flood_of_one_tenant_does_not_keep_another_waiting(self, store: Store) -> None:
        for number in range(300):
            await admit(store, f"flood_{number:03}", tenant="acme", priority=100)
        await admit(store, "lone", tenant="globex", priority=-100)
        firsts = [*await claimed_ids(store), *await claimed_ids(store)]
        assert "lone" in firsts

    @pytest.mark.parametrize("limit", [1, 2, 3, 5])
    async def test_tenants_take_turns(self, store: Store, limit: int) -> None:
        tenants = ("acme", "globex", "initech")
        for tenant in tenants:
            for number in range(10):
                await admit(store, f"{tenant}_{number}", tenant=tenant)
        served: list[str] = []
        while ids := await claimed_ids(store, limit=limit):
            turn = [run_id.partition("_")[0] for run_id in ids]
            assert len(set(turn)) == min(len(turn), len(tenants))
            served += turn
        windows = [served[start : start + 6] for start in range(len(served) - 5)]
        assert all(set(window) == set(tenants) for window in windows)

    async def test_every_worker_serves_every_tenant(self, store: Store) -> None:
        for tenant in ("acme", "globex"):
            for number in range(8):
                await admit(store, f"{tenant}_{number}", tenant=tenant)
        served: dict[str, Counter[str]] = {WORKER: Counter(), OTHER_WORKER: Counter()}
        for _ in range(4):
            for worker, counts in served.items():
                counts.update(run_id.partition("_")[0] for run_id in await claimed_ids(store, worker))
        assert all(counts["acme"] == counts["globex"] == 2 for counts in served.values())

    # --- what is left out -----------------------------------------------------------------------------

    async def test_what_is_left_out_keeps_its_place(self, store: Store) -> None:
        await admit(store, "a", priority=2, version_hash="unknown")
        await admit(store, "b", priority=1)
        await admit(store, "c")
        assert await claimed_ids(store, limit=9, only=without("unknown", runs=["b"])) == ["c"]
        assert await claimed_ids(store, limit=9) == ["a", "b"]

    async def test_a_version_left_out_hides_neither_its_tenant_nor_others(self, store: Store) -> None:
        for number in range(20):
            await admit(store, f"unknown_{number:02}", version_hash="unknown", priority=9)
        await admit(store, "known")
        await admit(store, "elsewhere", tenant="globex")
        ids = await claimed_ids(store, limit=9, only=without("unknown"))
        assert sorted(ids) == ["elsewhere", "known"]

    async def test_a_worker_does_not_get_back_a_run_it_leaves_out(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        await claim(store)
        clock.advance(31)
        assert await claimed_ids(store, only=without(runs=[RUN])) == []
        assert await claimed_ids(store, OTHER_WORKER) == [RUN]

    # --- asking again ---------------------------------------------------------------------------------

    async def test_asking_again_gives_the_same_claims_and_no_more(
        self, store: Store, another: Store, clock: ManualClock
    ) -> None:
        for number in range(4):
            await admit(store, f"run_{number}")
        first = await store.claim(WORKER, limit=2, request_id="first")
        clock.advance(5)
        assert await another.claim(WORKER, limit=4, request_id="first") == first
        assert [each.header.crashes for each in first.claims] == [0, 0]
        assert await claimed_ids(store, limit=4, request_id="second") == ["run_2", "run_3"]

    async def test_asking_again_tells_again_that_a_lease_had_expired(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        await claim(store, OTHER_WORKER)
        clock.advance(31)
        first = await claim(store, request_id="lost")
        assert first.reclaimed
        assert await claim(store, request_id="lost") == first

    async def test_asking_again_gives_what_is_still_held(self, store: Store) -> None:
        for number in range(4):
            await admit(store, f"run_{number}")
        first, second = (await store.claim(WORKER, limit=2, request_id="first")).claims
        await store.release(first.lease)
        assert await claimed_ids(store, limit=4, request_id="first") == [second.header.run_id]
        (kept,) = await store.renew([second.lease], lease_seconds=300)
        assert (await claim(store, request_id="first")).lease == kept.lease
        grown = await append(store, second.header.run_id, lease=second.lease)
        assert (await claim(store, request_id="first")).header == grown

    async def test_asking_again_when_nothing_is_held_claims_anew(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        assert (await claim(store, request_id="first")).lease.epoch == 1
        clock.advance(31)
        anew = await claim(store, request_id="first")
        assert (anew.lease.epoch, anew.header.crashes) == (2, 1)
        await store.release(anew.lease)
        assert (await claim(store, request_id="first")).lease.epoch == 3

    async def test_asking_again_gives_no_lease_that_was_taken_over(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        await claim(store, request_id="first")
        clock.advance(31)
        await claim(store, OTHER_WORKER)
        assert await claimed_ids(store, request_id="first") == []

    async def test_a_request_belongs_to_its_worker(self, store: Store) -> None:
        await admit(store, RUN)
        await admit(store, OTHER_RUN)
        assert await claimed_ids(store, WORKER, request_id="same") == [RUN]
        assert await claimed_ids(store, OTHER_WORKER, request_id="same") == [OTHER_RUN]

    # --- leases ---------------------------------------------------------------------------------------

    async def test_a_worker_that_claims_again_has_a_dead_lease_and_a_live_one(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        dead = (await claim(store)).lease
        clock.advance(31)
        live = (await claim(store)).lease
        for refused in (append(store, RUN, lease=dead), store.release(dead)):
            with pytest.raises(LeaseLost):
                await refused
        assert [each.outcome for each in await store.renew([dead, live])] == ["lost", "kept"]
        await append(store, RUN, lease=live)

    async def test_renewals_are_answered_in_order_each_for_itself(
        self, store: Store, clock: ManualClock
    ) -> None:
        for number in range(3):
            await admit(store, f"run_{number}")
        leases = [each.lease for each in (await store.claim(WORKER, limit=3)).claims]
        await store.release(leases[1])
        grown = await append(store, "run_0")
        clock.advance(10)
        nobodys = Lease(RunId("run_of_nobody"), WORKER, 1, START + 30 * SECOND)
        renewed = await store.renew([leases[2], nobodys, leases[1], leases[0]], lease_seconds=60)
        assert [each.outcome for each in renewed] == ["kept", "lost", "lost", "kept"]
        assert [each.lease.run_id for each in renewed] == ["run_2", "run_of_nobody", "run_1", "run_0"]
        assert renewed[3].head == grown.head
        assert renewed[3].lease.expires_at == START + 70 * SECOND
        assert renewed[1].head is None

    async def test_a_renewed_lease_ends_at_its_new_end_alone(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        lease = (await claim(store)).lease
        clock.advance(20)
        await store.renew([lease])
        clock.advance(20)
        assert await claimed_ids(store, OTHER_WORKER) == []
        await append(store, RUN, lease=lease)
        clock.advance(10)
        assert await claimed_ids(store, OTHER_WORKER) == [RUN]

    async def test_no_lease_comes_back_to_life(self, store: Store, clock: ManualClock) -> None:
        await admit(store)
        lease = (await claim(store)).lease
        clock.advance(30)
        (answer,) = await store.renew([lease])
        assert answer.outcome == "lost"
        with pytest.raises(LeaseLost):
            await store.release(lease)

    async def test_another_workers_name_on_a_lease_opens_nothing(self, store: Store) -> None:
        await admit(store)
        lease = (await claim(store)).lease
        forged = Lease(RUN, OTHER_WORKER, lease.epoch, lease.expires_at)
        with pytest.raises(LeaseLost) as caught:
            await append(store, RUN, lease=forged)
        assert caught.value.worker_id == OTHER_WORKER

    async def test_runs_pass_from_worker_to_worker_until_all_are_settled(self, store: Store) -> None:
        for number in range(10):
            await admit(store, f"run_{number}", tenant=f"tenant_{number % 3}")
        rests = Counter[str]()
        while claims := (await store.claim(WorkerId("any"), limit=4)).claims:
            for each in claims:
                rests[each.header.run_id] += 1
                done = rests[each.header.run_id] == 3
                change = SETTLE if done else rest(NOW)
                await append(store, each.header.run_id, change=change, lease=each.lease)
        assert set(rests.values()) == {3}
        assert len(rests) == 10

    async def test_claims_and_writes_interleave_as_they_like(self, store: Store, another: Store) -> None:
        ids = [f"run_{number}" for number in range(6)]
        for run_id in ids:
            await admit(store, run_id)
        await self._work(store, another, ids)
        for run_id in ids:
            header = await store.get_run(RunId(run_id))
            assert header.terminal is not None
            assert header.epoch == 1

    async def _work(self, store: Store, another: Store, ids: Sequence[str]) -> None:
        async def worker(store: Store, name: str) -> None:
            while claims := (await store.claim(WorkerId(name))).claims:
                run_id = claims[0].header.run_id
                await append(store, run_id, b"work", lease=claims[0].lease)
                await append(store, run_id, b"end", change=SETTLE, lease=claims[0].lease)

        async with create_task_group() as group:
            group.start_soon(worker, store, "one")
            group.start_soon(worker, another, "two")

"""The order of claims: tenants in turn, and inside a tenant priority, age, id."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import (
    OTHER_WORKER,
    WORKER,
    admission,
    admit,
    admit_all,
    claim,
    claimed_ids,
    lapse,
    without,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ports.store import Store

TENANTS = ("acme", "globex", "initech")
MILLISECOND = timedelta(milliseconds=1)


def tenants_of(run_ids: list[str]) -> list[str]:
    """The tenants of Runs that are named for them."""
    return [run_id.partition("_")[0] for run_id in run_ids]


class ClaimOrder(StoreBase):
    """Who comes next."""

    async def test_a_claim_takes_as_many_as_it_asks_for(self, store: Store) -> None:
        for number in range(7):
            await admit(store, f"run_{number}")
        taken = [await claimed_ids(store, limit=5) for _ in range(3)]
        assert list(map(len, taken)) == [5, 2, 0]
        assert len({run_id for ids in taken for run_id in ids}) == 7

    async def test_inside_a_tenant_priority_comes_first_then_age_then_id(
        self, store: Store, time: StoreTime
    ) -> None:
        began = time.after(1)
        for run_id, priority, later in [("a", 0, 2), ("b", 0, 1), ("c", 5, 3), ("d", -5, 0), ("e", 0, 1)]:
            await admit(store, run_id, priority=priority, ready_at=began + later * MILLISECOND)
        await time.reaches(began + 3 * MILLISECOND)
        assert await claimed_ids(store, limit=9) == ["c", "b", "e", "a", "d"]

    async def test_an_expired_lease_stands_where_it_ended(self, store: Store, time: StoreTime) -> None:
        await admit(store, "expires")
        await lapse(store, time)
        await time.passes(0.001)
        await admit(store, "a_newer")
        assert await claimed_ids(store, limit=9) == ["expires", "a_newer"]

    # --- a clock that falls back -------------------------------------------------------------------------

    async def test_what_is_ready_no_more_since_the_clock_fell_back_is_in_nobodys_way(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store, "ready")
        await time.passes(40)
        await admit(store, "ahead", priority=100)
        time.falls_back(39)
        stats = await store.stats()
        assert (stats.ready, stats.oldest_ready_seconds) == (1, 1)
        assert await claimed_ids(store) == ["ready"]
        assert await claimed_ids(store) == []
        await time.passes(39)
        assert await claimed_ids(store) == ["ahead"]

    async def test_a_lease_that_lives_again_since_the_clock_fell_back_is_in_nobodys_way(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store, "held", priority=100)
        lease = (await claim(store, lease_seconds=30)).lease
        await admit(store, "waits")
        await time.passes(40)
        assert await claimed_ids(store, OTHER_WORKER, only=without(runs=["held", "waits"])) == []
        time.falls_back(35)
        (renewed,) = await store.renew([lease], lease_seconds=30)
        assert renewed.outcome == "kept"
        await time.passes(20)
        assert await claimed_ids(store, OTHER_WORKER) == ["waits"]
        assert (await store.stats()).expired_leases == 0
        await time.reaches(renewed.lease.expires_at)
        assert await claimed_ids(store, OTHER_WORKER) == ["held"]

    # --- inside a tenant, and between tenants ------------------------------------------------------------

    async def test_priority_counts_over_versions(self, store: Store) -> None:
        await admit(store, "a", version_hash="version_a")
        await admit(store, "b", version_hash="version_b", priority=1)
        await admit(store, "c", version_hash="version_a", priority=2)
        assert await claimed_ids(store, limit=3) == ["c", "b", "a"]

    async def test_the_order_is_exact_over_64_versions(self, store: Store) -> None:
        priorities = Random(0).sample(range(-100, 101), 64)
        await admit_all(
            store,
            *[
                admission(f"run_{priority}", version_hash=f"version_{number}", priority=priority)
                for number, priority in enumerate(priorities)
            ],
        )
        expected = [f"run_{priority}" for priority in sorted(priorities, reverse=True)]
        assert [*await claimed_ids(store, limit=10), *await claimed_ids(store, limit=60)] == expected

    async def test_priority_moves_no_tenant_ahead_of_another(self, store: Store) -> None:
        for number in range(4):
            await admit(store, f"acme_{number}", tenant="acme", priority=100)
            await admit(store, f"globex_{number}", tenant="globex", priority=-100)
        assert Counter(tenants_of(await claimed_ids(store, limit=4))) == {"acme": 2, "globex": 2}

    async def test_a_flood_of_one_tenant_does_not_keep_another_waiting(self, store: Store) -> None:
        await admit_all(store, *[admission(f"flood_{number:03}", priority=100) for number in range(480)])
        await admit(store, "lone", tenant="globex", priority=-100)
        assert "lone" in [*await claimed_ids(store), *await claimed_ids(store)]

    @pytest.mark.parametrize("limit", [1, 2, 3, 5])
    async def test_tenants_take_turns(self, store: Store, limit: int) -> None:
        for tenant in TENANTS:
            for number in range(10):
                await admit(store, f"{tenant}_{number}", tenant=tenant)
        served: list[str] = []
        while turn := tenants_of(await claimed_ids(store, limit=limit)):
            assert len(set(turn)) == min(len(turn), len(TENANTS))
            served += turn
        windows = [served[start : start + 6] for start in range(len(served) - 5)]
        assert all(set(window) == set(TENANTS) for window in windows)

    async def test_every_worker_serves_every_tenant(self, store: Store) -> None:
        for tenant in ("acme", "globex"):
            for number in range(8):
                await admit(store, f"{tenant}_{number}", tenant=tenant)
        served: dict[str, Counter[str]] = {WORKER: Counter(), OTHER_WORKER: Counter()}
        for _ in range(4):
            for worker, counts in served.items():
                counts.update(tenants_of(await claimed_ids(store, worker)))
        assert all(counts["acme"] == counts["globex"] == 2 for counts in served.values())

    async def test_a_run_that_is_given_back_goes_behind_those_that_wait(
        self, store: Store, time: StoreTime
    ) -> None:
        for run_id in ("a", "b"):
            await admit(store, run_id)
        first = await claim(store)
        await time.passes(0.001)
        await store.release(first.lease)
        assert first.header.run_id == "a"
        assert await claimed_ids(store, limit=2) == ["b", "a"]

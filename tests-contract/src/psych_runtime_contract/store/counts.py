"""The open Runs in numbers: exact below the cap, bounded above it."""

from __future__ import annotations

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.endings import over, store_all
from psych_runtime_contract.store.scenes import BRIEF, admission, admit, admit_all, claim, copies, lapse
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ports.reports import StoreStats
from psych_runtime_core.ports.store import Store

CAP = 10_000


def numbers(stats: StoreStats) -> tuple[int, int, int, int]:
    return stats.ready, stats.running, stats.suspended, stats.expired_leases


class Counts(StoreBase):
    """`stats`."""

    async def test_a_store_without_runs_counts_none(self, store: Store, time: StoreTime) -> None:
        stats = await store.stats()
        assert numbers(stats) == (0, 0, 0, 0)
        assert (stats.oldest_ready_seconds, stats.capped, stats.tenants) == (None, False, ())
        assert stats.now == time.told(stats.now, time.now())

    async def test_each_open_run_is_counted_as_what_it_is(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        await admit(store, "expired")
        await lapse(store, time)
        await admit(store, "running", priority=1)
        await claim(store, lease_seconds=100)
        await store_all(
            store,
            admission("ready"),
            admission("due", ready_at=time.after(BRIEF)),
            admission("due_though_parked", ready_at=time.after(BRIEF), parked=True),
            admission("delayed", ready_at=time.after(1_000)),
            admission("parked", ready_at=time.after(1_000), parked=True),
            admission("asleep", ready_at=None, parked=True),
            over("settled"),
            admission("theirs", tenant="globex"),
        )
        await time.passes(2 * BRIEF)
        for handle in (store, second):
            assert numbers(await handle.stats(tenant="acme")) == (3, 2, 2, 1)
            assert numbers(await handle.stats()) == (4, 2, 2, 1)
            assert numbers(await handle.stats(tenant="globex")) == (1, 0, 0, 0)
            assert numbers(await handle.stats(tenant="GLOBEX")) == (0, 0, 0, 0)
            assert not (await handle.stats()).capped

    async def test_tenants_are_told_from_the_oldest_ready_work_on(
        self, store: Store, time: StoreTime
    ) -> None:
        began = time.now()
        for tenant in ("globex", "acme", "initech"):
            await admit(store, f"{tenant}_1", tenant=tenant)
            await admit(store, f"{tenant}_2", tenant=tenant)
            await time.passes(1)
        await admit(store, "umbrella", tenant="umbrella", ready_at=None, parked=True)
        told = {top: (await store.stats(top=top)).tenants for top in (0, 2, 20)}
        names = {top: [each.tenant for each in tenants] for top, tenants in told.items()}
        assert names == {0: [], 2: ["globex", "acme"], 20: ["globex", "acme", "initech"]}
        assert [(each.ready, each.running, each.suspended) for each in told[20]] == [(2, 0, 0)] * 3
        waited = [each.oldest_ready_seconds or 0 for each in told[20]]
        assert waited == sorted(waited, reverse=True)
        stats = await store.stats()
        assert stats.oldest_ready_seconds is not None
        if time.is_moved:
            assert waited == [3, 2, 1]
            assert stats.oldest_ready_seconds == (stats.now - began).total_seconds() == 3

    async def test_the_oldest_ready_run_is_no_delayed_and_no_leased_one(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store, "leased")
        await claim(store, lease_seconds=100)
        await admit(store, "delayed", ready_at=time.after(1_000))
        await time.passes(BRIEF)
        assert (await store.stats()).oldest_ready_seconds is None
        await admit(store, "ready")
        waited = (await store.stats(tenant="acme")).oldest_ready_seconds
        assert waited is not None
        assert 0 <= waited < BRIEF

    @pytest.mark.parametrize("top", [-1, 1_001])
    async def test_a_number_of_tenants_out_of_bounds_is_refused(self, store: Store, top: int) -> None:
        with pytest.raises(ValueError):
            await store.stats(top=top)

    async def test_a_count_is_exact_below_its_cap_and_bounded_above(self, store: Store) -> None:
        await admit_all(
            store, *copies(admission(ready_at=None, parked=True), *[f"run_{each}" for each in range(CAP)])
        )
        exact = await store.stats()
        assert (exact.suspended, exact.capped) == (CAP, False)
        await admit(store, "one_more", ready_at=None, parked=True)
        for stats in (await store.stats(), await store.stats(tenant="acme")):
            assert (stats.suspended, stats.capped) == (CAP, True)

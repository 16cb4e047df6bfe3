"""What a claim leaves out: by name, by Version, and where a tenant has as many Runs leased as it may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.changes import hint
from psych_runtime_contract.store.scenes import (
    BRIEF,
    OTHER_WORKER,
    RUN,
    SETTLE,
    WORKER,
    admit,
    claim,
    claimed_ids,
    end,
    lapse,
    rest,
    without,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_contract.store.turns import tenants_of
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.claims import ClaimFilter
from psych_runtime_core.ports.runs import Lease
from psych_runtime_core.ports.store import Store

ACME_ALONE = ClaimFilter(tenants=frozenset({"acme"}))
ONE_EACH = ClaimFilter(tenant_concurrency=1)

Ending = Callable[[Store, StoreTime, Lease], Awaitable[object]]


async def settles(store: Store, time: StoreTime, lease: Lease) -> None:
    await end(store, lease, SETTLE)


async def rests(store: Store, time: StoreTime, lease: Lease) -> None:
    await end(store, lease, rest(time.after(3_600)))


async def releases(store: Store, time: StoreTime, lease: Lease) -> None:
    header = await store.get_run(lease.run_id)
    await store.release(lease, None, after=header.head)


async def expires(store: Store, time: StoreTime, lease: Lease) -> None:
    await time.reaches(lease.expires_at)


def cap(number: int | dict[str, int]) -> ClaimFilter:
    """So many Runs of a tenant at once."""
    return ClaimFilter(tenant_concurrency=number)


def each_ending(*endings: Ending) -> pytest.MarkDecorator:
    """A test for each way in which a lease comes to its end."""
    return pytest.mark.parametrize("ends", [pytest.param(each, id=each.__name__) for each in endings])


class ClaimLimits(StoreBase):
    """What is left out keeps its place."""

    async def admit_some(self, store: Store, count: int = 5, *tenants: str) -> None:
        """Ready Runs, named for their tenants."""
        for tenant in tenants or ("acme",):
            for number in range(count):
                await admit(store, f"{tenant}_{number}", tenant=tenant)

    # --- by name -----------------------------------------------------------------------------------------

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
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        await lapse(store, time)
        assert await claimed_ids(store, only=without(runs=[RUN])) == []
        assert await claimed_ids(store, OTHER_WORKER) == [RUN]

    async def test_of_named_tenants_alone_is_taken(self, store: Store) -> None:
        await self.admit_some(store, 2, "acme", "Acme", "globex")
        assert await claimed_ids(store, limit=9, only=ACME_ALONE) == ["acme_0", "acme_1"]
        nobody = ClaimFilter(tenants=frozenset())
        assert await claimed_ids(store, limit=9, only=nobody) == []
        assert len(await claimed_ids(store, limit=9)) == 4

    # --- by number ---------------------------------------------------------------------------------------

    async def test_a_tenant_has_no_more_leases_than_its_cap(self, store: Store, second: Store) -> None:
        await self.admit_some(store, 5, "acme", "globex")
        first = await store.claim(WORKER, limit=3, only=cap(2))
        other = await second.claim(OTHER_WORKER, limit=9, only=cap(2))
        ids = [each.header.run_id for claims in (first, other) for each in claims.claims]
        assert sorted(ids) == ["acme_0", "acme_1", "globex_0", "globex_1"]
        assert (first.more, other.more) == (False, True)

    async def test_a_tenant_may_have_a_cap_of_its_own(self, store: Store) -> None:
        await self.admit_some(store, 5, "acme", "globex", "initech")
        ids = await claimed_ids(store, limit=20, only=cap({"acme": 3, "*": 1}))
        assert Counter(tenants_of(ids)) == {"acme": 3, "globex": 1, "initech": 1}
        rest_of_globex = await claimed_ids(store, limit=20, only=cap({"acme": 3, "initech": 1}))
        assert Counter(tenants_of(rest_of_globex)) == {"globex": 4}

    async def test_a_tenant_at_its_cap_costs_nobody_a_turn(self, store: Store) -> None:
        await self.admit_some(store, 5, "acme", "globex", "initech")
        await store.claim(WORKER, limit=1, only=ClaimFilter(tenants=frozenset({"globex"})))
        only = cap({"globex": 1})
        served = [tenants_of(await claimed_ids(store, only=only)) for _ in range(8)]
        assert sorted(served[:2]) == sorted(served[2:4]) == [["acme"], ["initech"]]

    async def test_workers_with_different_caps_keep_to_their_own(self, store: Store) -> None:
        await self.admit_some(store, 5)
        assert len(await claimed_ids(store, limit=9, only=cap(2))) == 2
        assert len(await claimed_ids(store, OTHER_WORKER, limit=9, only=cap(3))) == 1
        assert await claimed_ids(store, limit=9, only=cap(2)) == []
        assert len(await claimed_ids(store, OTHER_WORKER, limit=9)) == 2

    @each_ending(settles, rests, releases, expires)
    async def test_a_slot_is_free_when_a_lease_has_come_to_its_end(
        self, store: Store, time: StoreTime, ends: Ending
    ) -> None:
        await self.admit_some(store, 2)
        taken = await claim(store, only=ONE_EACH, lease_seconds=BRIEF)
        assert await claimed_ids(store, only=ONE_EACH) == []
        await ends(store, time, taken.lease)
        freed = await claimed_ids(store, only=ONE_EACH, limit=9)
        assert freed == ["acme_1"]

    async def test_a_lease_that_is_renewed_holds_its_slot(self, store: Store, time: StoreTime) -> None:
        await self.admit_some(store, 2)
        lease = (await claim(store, only=ONE_EACH, lease_seconds=BRIEF)).lease
        await store.renew([lease], lease_seconds=600)
        await time.reaches(lease.expires_at)
        assert await claimed_ids(store, only=ONE_EACH) == []

    async def test_sixteen_claimers_at_once_keep_to_a_cap(self, store: Store, second: Store) -> None:
        await self.admit_some(store, 20)
        for _ in range(5):
            leases = await self.claim_at_once(store, second)
            assert len(leases) == 4
            for lease in leases:
                await store.release(lease)

    async def claim_at_once(self, store: Store, second: Store) -> list[Lease]:
        """What sixteen Workers take together that let a tenant have four Runs leased."""
        leases: list[Lease] = []

        async def ask(handle: Store, number: int) -> None:
            claims = await handle.claim(WorkerId(f"worker_{number}"), limit=3, only=cap(4))
            leases.extend(each.lease for each in claims.claims)

        async with create_task_group() as group:
            for number in range(16):
                group.start_soon(ask, second if number % 2 else store, number)
        return leases

    # --- what is said of what is left ----------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("limit", "only", "more"),
        [
            pytest.param(2, ONE_EACH, True, id="a cap left work"),
            pytest.param(1, ONE_EACH, False, id="as many as asked for"),
            pytest.param(9, cap(5), False, id="a cap that nothing reaches"),
            pytest.param(9, ClaimFilter(), False, id="all that there is"),
            pytest.param(9, without("version_a"), False, id="a Version that is left out"),
            pytest.param(9, without(runs=["acme_1", "acme_2"]), False, id="Runs that are left out"),
            pytest.param(9, ClaimFilter(tenants=frozenset({"globex"})), False, id="another tenant's work"),
            pytest.param(
                9,
                ClaimFilter(
                    tenant_concurrency=1,
                    exclude=frozenset({RunId("acme_1"), RunId("acme_2"), RunId("acme_0")}),
                ),
                False,
                id="nothing that a cap holds back is let through",
            ),
        ],
    )
    async def test_more_is_told_where_a_cap_alone_left_work(
        self, store: Store, time: StoreTime, limit: int, only: ClaimFilter, more: bool
    ) -> None:
        await self.admit_some(store, 3)
        await admit(store, "later", ready_at=time.after(3_600))
        await admit(store, "asleep", ready_at=None)
        assert (await store.claim(WORKER, limit=limit, only=only)).more is more

    async def test_a_tenant_at_its_cap_with_nothing_ready_has_no_more(self, store: Store) -> None:
        await self.admit_some(store, 1)
        await claim(store, only=ONE_EACH)
        assert not (await store.claim(OTHER_WORKER, limit=9, only=ONE_EACH)).more

    @each_ending(settles, rests, releases)
    async def test_the_end_of_a_lease_tells_of_ready_work_of_its_tenant(
        self, store: Store, second: Store, time: StoreTime, ends: Ending
    ) -> None:
        await self.admit_some(store, 3)
        for watcher in (store, second):
            taken = await claim(store, only=ONE_EACH)
            async with watcher.changes(ready=True) as watch:
                assert (await watcher.claim(OTHER_WORKER, only=ONE_EACH)).more
                await ends(store, time, taken.lease)
                assert (await hint(watch, time)).ready

    @pytest.mark.needs("caps.push")
    async def test_a_capped_tenant_needs_no_polling(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        await self.admit_some(store, 20)
        done: list[str] = []

        async def work(handle: Store, name: str) -> None:
            async with handle.changes(ready=True) as watch:
                while len(done) < 20:
                    for each in (await handle.claim(WorkerId(name), only=ONE_EACH)).claims:
                        done.append(each.header.run_id)
                        await end(handle, each.lease)
                        break
                    else:
                        assert (await watch.wait(20)).ready or len(done) == 20

        async def both() -> None:
            async with create_task_group() as group:
                group.start_soon(work, store, "one")
                group.start_soon(work, second, "two")

        await time.passes_until(both)
        assert sorted(done) == sorted(f"acme_{number}" for number in range(20))

    @pytest.mark.parametrize(
        "options",
        [
            {"limit": 0},
            {"limit": 101},
            {"lease_seconds": 0.5},
            {"lease_seconds": 3_601},
            {"request_id": "x" * 65},
            {"only": cap(0)},
            {"only": cap({"acme": 0})},
            {"only": ClaimFilter(exclude=frozenset(RunId(f"run_{number}") for number in range(1_001)))},
            {"only": ClaimFilter(tenants=frozenset(f"tenant_{number}" for number in range(1_001)))},
        ],
        ids=lambda options: next(iter(options)),
    )
    async def test_a_claim_out_of_bounds_is_refused(self, store: Store, options: dict[str, Any]) -> None:
        await admit(store)
        with pytest.raises(ValueError, match=r"not|has"):
            await claim(store, **options)
        assert (await store.get_run(RUN)).epoch == 0

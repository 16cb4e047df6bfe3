"""When a Run is claimed, how long it is held, and what a lease is worth after its end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import (
    BRIEF,
    OTHER_WORKER,
    RUN,
    SETTLE,
    START,
    WORKER,
    admit,
    append,
    claim,
    claimed_ids,
    end,
    everything,
    lapse,
    rest,
    settle,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import LeaseLost, SeqConflict
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import NOW, Lease
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import UNCHANGED
from psych_runtime_core.records import Head

SECOND = timedelta(seconds=1)


class ClaimLeases(StoreBase):
    """Leases and what fences them."""

    async def test_a_claim_gives_the_header_and_the_lease_that_are_stored(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        await admit(store)
        since = time.now()
        taken = await claim(store, lease_seconds=90)
        began = time.told(taken.lease.expires_at - 90 * SECOND, since)
        assert taken.header == await second.get_run(RUN)
        assert began is not None
        assert taken.lease == Lease(RUN, WORKER, 1, began + 90 * SECOND) == taken.header.lease

    # --- when ------------------------------------------------------------------------------------------

    async def test_a_run_is_claimed_at_its_very_microsecond(self, store: Store, time: StoreTime) -> None:
        ready_at = time.after(0.500_001)
        assert (await admit(store, ready_at=ready_at)).ready_at == ready_at
        await time.nears(ready_at)
        assert await claimed_ids(store) == []
        await time.reaches(ready_at)
        assert await claimed_ids(store) == [RUN]

    async def test_a_rest_lasts_to_its_very_microsecond(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        again = time.after(0.500_001)
        await end(store, (await claim(store)).lease, rest(again))
        await time.nears(again)
        assert await claimed_ids(store) == []
        await time.reaches(again)
        assert await claimed_ids(store) == [RUN]

    async def test_a_run_that_waits_for_a_wake_is_not_claimed(self, store: Store, time: StoreTime) -> None:
        await admit(store, ready_at=None)
        await time.passes(10_000_000 if time.is_moved else BRIEF)
        assert await claimed_ids(store) == []

    async def test_a_settled_run_is_never_claimed(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        await settle(store)
        await time.passes(10_000 if time.is_moved else BRIEF)
        assert await claimed_ids(store) == []

    async def test_a_lease_ends_at_its_very_microsecond(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        lease = (await claim(store, lease_seconds=BRIEF)).lease
        await time.nears(lease.expires_at)
        assert await claimed_ids(store, OTHER_WORKER) == []
        await append(store, RUN, lease=lease)
        await time.reaches(lease.expires_at)
        with pytest.raises(LeaseLost):
            await append(store, RUN, lease=lease)
        assert await claimed_ids(store, OTHER_WORKER) == [RUN]

    # --- how long --------------------------------------------------------------------------------------

    async def test_a_renewed_lease_ends_at_its_new_end_alone(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        lease = (await claim(store, lease_seconds=BRIEF)).lease
        (renewed,) = await store.renew([lease], lease_seconds=2 * BRIEF)
        await time.reaches(lease.expires_at)
        assert await claimed_ids(store, OTHER_WORKER) == []
        await append(store, RUN, lease=lease)
        await time.reaches(renewed.lease.expires_at)
        assert await claimed_ids(store, OTHER_WORKER) == [RUN]

    async def test_renewals_are_answered_in_order_each_for_itself(
        self, store: Store, time: StoreTime
    ) -> None:
        for number in range(3):
            await admit(store, f"run_{number}")
        leases = [each.lease for each in (await store.claim(WORKER, limit=3)).claims]
        await store.release(leases[1])
        grown = await append(store, "run_0")
        await time.passes(0.001)
        nobodys = Lease(RunId("run_of_nobody"), WORKER, 1, leases[0].expires_at)
        since = time.now()
        renewed = await store.renew([leases[2], nobodys, leases[1], leases[0]], lease_seconds=60)
        assert [each.outcome for each in renewed] == ["kept", "lost", "lost", "kept"]
        assert [each.lease.run_id for each in renewed] == ["run_2", "run_of_nobody", "run_1", "run_0"]
        assert [each.head for each in renewed[1:]] == [None, None, grown.head]
        began = renewed[3].lease.expires_at - 60 * SECOND
        assert began == time.told(began, since)

    async def test_no_lease_comes_back_to_life(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        lease = (await lapse(store, time)).lease
        (answer,) = await store.renew([lease])
        assert answer.outcome == "lost"
        assert (await store.get_run(RUN)).lease == lease
        with pytest.raises(LeaseLost):
            await store.release(lease)

    async def test_a_lease_ends_with_its_run(self, store: Store) -> None:
        await admit(store)
        lease = (await claim(store)).lease
        settled = await end(store, lease)
        assert [each.outcome for each in await store.renew([lease])] == ["lost"]
        with pytest.raises(LeaseLost):
            await store.release(lease)
        assert await store.get_run(RUN) == settled

    # --- the fence -------------------------------------------------------------------------------------

    async def test_a_worker_that_claims_again_has_a_dead_lease_and_a_live_one(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        dead, live = (await lapse(store, time)).lease, (await claim(store)).lease
        with pytest.raises(LeaseLost):
            await append(store, RUN, lease=dead)
        with pytest.raises(LeaseLost):
            await store.release(dead)
        assert [each.outcome for each in await store.renew([dead, live])] == ["lost", "kept"]
        await append(store, RUN, lease=live)

    async def test_another_workers_name_on_a_lease_opens_nothing(self, store: Store) -> None:
        await admit(store)
        lease = (await claim(store)).lease
        forged = Lease(RUN, OTHER_WORKER, lease.epoch, lease.expires_at)
        before = await everything(store, RUN)
        for change in (UNCHANGED, rest(NOW), SETTLE):
            with pytest.raises(LeaseLost) as caught:
                await append(store, RUN, change=change, lease=forged)
            assert caught.value.worker_id == OTHER_WORKER
        with pytest.raises(LeaseLost):
            await store.release(forged)
        assert [each.outcome for each in await store.renew([forged])] == ["lost"]
        assert await everything(store, RUN) == before

    async def test_no_clock_but_the_stores_says_that_a_lease_is_over(self, store: Store) -> None:
        await admit(store)
        lease = (await claim(store)).lease
        forged = Lease(RUN, WORKER, lease.epoch, START - 1_000 * SECOND)
        await append(store, RUN, lease=forged)
        assert (await store.get_run(RUN)).lease == lease

    # --- crashes ---------------------------------------------------------------------------------------

    async def test_crashes_count_expired_leases_that_were_taken_over(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        for crashes in range(3):
            taken = await lapse(store, time)
            assert (taken.header.crashes, taken.reclaimed) == (crashes, crashes > 0)

    async def test_rests_and_releases_are_no_crashes(self, store: Store) -> None:
        await admit(store)
        await store.release((await claim(store)).lease)
        await end(store, (await claim(store)).lease, rest(NOW))
        taken = await claim(store)
        assert (taken.header.crashes, taken.reclaimed, taken.lease.epoch) == (0, False, 3)

    async def test_a_release_forgives_no_crash(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        await lapse(store, time)
        await store.release((await claim(store)).lease)
        taken = await claim(store)
        assert (taken.header.crashes, taken.reclaimed) == (1, False)

    # --- giving back -----------------------------------------------------------------------------------

    async def test_a_release_until_later_names_the_head_it_was_decided_on(
        self, store: Store, time: StoreTime
    ) -> None:
        header = await admit(store)
        lease, later = (await claim(store)).lease, time.after(60)
        for ready_at in (None, later):
            with pytest.raises(ValueError, match="head"):
                await store.release(lease, ready_at)
        await store.release(lease, later, after=header.head)
        assert (await store.get_run(RUN)).ready_at == later

    async def test_a_release_decided_on_another_log_of_that_length_changes_nothing(
        self, store: Store
    ) -> None:
        header = await admit(store)
        lease = (await claim(store)).lease
        with pytest.raises(SeqConflict) as caught:
            await store.release(lease, None, after=Head(header.head.seq, bytes(32)))
        assert caught.value.head == header.head
        assert (await store.get_run(RUN)).lease == lease

    @pytest.mark.parametrize("until", [None, NOW], ids=["until woken", "at once"])
    async def test_a_release_decided_on_another_head_changes_nothing(self, store: Store, until: None) -> None:
        header = await admit(store)
        lease = (await claim(store)).lease
        grown = await append(store)
        with pytest.raises(SeqConflict) as caught:
            await store.release(lease, until, after=header.head)
        assert caught.value.head == grown.head
        assert (await store.get_run(RUN)).lease == lease

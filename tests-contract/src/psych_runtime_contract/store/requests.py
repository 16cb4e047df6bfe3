"""Asking again under one `request_id`: a lost answer leases no Run to nobody."""

from __future__ import annotations

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import (
    OTHER_RUN,
    OTHER_WORKER,
    RUN,
    WORKER,
    admit,
    append,
    claim,
    claimed_ids,
    lapse,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ports.claims import ClaimFilter, Claims
from psych_runtime_core.ports.store import Store


class ClaimRequests(StoreBase):
    """What a claim answers that is made again."""

    async def test_asking_again_gives_the_same_claims_and_no_more(
        self, store: Store, second: Store, time: StoreTime
    ) -> None:
        for number in range(4):
            await admit(store, f"run_{number}")
        first = await store.claim(WORKER, limit=2, request_id="first")
        await time.passes(0.001)
        assert await second.claim(WORKER, limit=4, request_id="first") == first
        assert [each.header.crashes for each in first.claims] == [0, 0]
        assert await claimed_ids(store, limit=4, request_id="second") == ["run_2", "run_3"]

    async def test_asking_again_tells_of_what_is_held_alone(self, store: Store) -> None:
        await admit(store, RUN)
        await admit(store, OTHER_RUN)
        one_each = ClaimFilter(tenant_concurrency=1)
        first = await store.claim(WORKER, limit=2, only=one_each, request_id="first")
        assert first.more
        assert await store.claim(WORKER, limit=2, only=one_each, request_id="first") == Claims(first.claims)

    async def test_asking_again_tells_again_that_a_lease_had_expired(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        await lapse(store, time, OTHER_WORKER)
        first = await claim(store, request_id="lost")
        assert first.reclaimed
        assert await claim(store, request_id="lost") == first

    async def test_asking_again_gives_what_is_still_held(self, store: Store) -> None:
        for number in range(4):
            await admit(store, f"run_{number}")
        one, other = (await store.claim(WORKER, limit=2, request_id="first")).claims
        await store.release(one.lease)
        assert await claimed_ids(store, limit=4, request_id="first") == [other.header.run_id]
        (kept,) = await store.renew([other.lease], lease_seconds=300)
        assert (await claim(store, request_id="first")).lease == kept.lease
        grown = await append(store, other.header.run_id, lease=other.lease)
        assert (await claim(store, request_id="first")).header == grown

    async def test_asking_again_when_nothing_is_held_claims_anew(self, store: Store, time: StoreTime) -> None:
        await admit(store)
        assert (await lapse(store, time, request_id="first")).lease.epoch == 1
        anew = await claim(store, request_id="first")
        assert (anew.lease.epoch, anew.header.crashes) == (2, 1)
        await store.release(anew.lease)
        assert (await claim(store, request_id="first")).lease.epoch == 3

    async def test_asking_again_gives_no_lease_that_was_taken_over(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        await lapse(store, time, request_id="first")
        await claim(store, OTHER_WORKER)
        assert await claimed_ids(store, request_id="first") == []

    async def test_a_request_belongs_to_its_worker(self, store: Store) -> None:
        await admit(store, RUN)
        await admit(store, OTHER_RUN)
        assert await claimed_ids(store, WORKER, request_id="same") == [RUN]
        assert await claimed_ids(store, OTHER_WORKER, request_id="same") == [OTHER_RUN]

"""Erasures: what headers say of a person goes, and everything else stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.endings import ACME, MOST_CALLS, child, of, over, store_all
from psych_runtime_contract.store.interruptions import cut_short
from psych_runtime_contract.store.scenes import (
    OTHER_REQUEST,
    OTHER_RUN,
    RUN,
    admission,
    admit,
    claim,
    end,
    everything,
)
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records.facts import SuspendReason
from psych_runtime_core.scope import Scope

ADA = Scope(tenant="acme", principal="ada", labels={"team": "support", "mail": "ada@example.com"})
SCRUBBED: dict[str, Any] = {
    "scope": Scope(tenant="acme"),
    "idempotency_key": None,
    "request": bytes(32),
    "erased": True,
}

OF_ADA = [
    pytest.param({"principal": "ada"}, id="her name"),
    pytest.param({"labels": {"team": "support"}}, id="a label"),
    pytest.param({"labels": dict(ADA.labels)}, id="all labels"),
    pytest.param({"idempotency_key": "order-ada"}, id="her key"),
]


class Erasures(StoreBase):
    """`erase`."""

    async def test_what_a_header_says_of_a_person_goes_and_the_rest_stays(
        self, store: Store, second: Store
    ) -> None:
        await admit(
            store,
            scope=ADA,
            idempotency_key="order-ada",
            priority=7,
            continues_run_id="earlier",
            attempt_count=3,
            blobs=True,
        )
        before = await end(store, (await claim(store)).lease)
        log = await store.read(RUN)
        assert await store.erase(ACME) == 1
        assert await everything(second, RUN) == [(before.model_copy(update=SCRUBBED), log)]

    @pytest.mark.parametrize("conditions", OF_ADA)
    async def test_an_erased_run_is_not_found_by_what_is_gone(
        self, store: Store, conditions: dict[str, Any]
    ) -> None:
        await store_all(store, over(RUN, scope=ADA, idempotency_key="order-ada"))
        query = RunQuery(tenant="acme", **conditions)
        assert len((await store.find_runs(query)).items) == 1
        assert await store.erase(query) == 1
        assert (await store.find_runs(query)).items == ()
        assert len((await store.find_runs(ACME)).items) == 1

    async def test_all_who_are_meant_are_erased_once(self, store: Store) -> None:
        names = [f"run_{number:02}" for number in range(60)]
        await store_all(store, *[over(name, scope=ADA) for name in names])
        assert await store.erase(of("run_00", "run_01", "run_02")) == 3
        assert await store.erase(RunQuery(tenant="acme", limit=5)) == 57
        assert await store.erase(ACME) == 0
        for header, _ in await everything(store, *names):
            assert header.scope.principal is None

    @pytest.mark.parametrize("name", ["run_ids", "states", "lifecycles", "terminals", "waits"])
    async def test_a_set_without_members_means_nobody(self, store: Store, name: str) -> None:
        await store_all(store, over(RUN, scope=ADA, waits=((SuspendReason.APPROVAL, 2),)))
        before = await everything(store, RUN)
        for tenant in (None, "acme"):
            assert await store.erase(RunQuery.model_validate({name: [], "tenant": tenant})) == 0
        assert await everything(store, RUN) == before

    async def test_what_is_not_settled_is_left(self, store: Store) -> None:
        await admit(store, scope=ADA, idempotency_key="order-ada")
        await admit(store, OTHER_RUN, scope=ADA)
        await claim(store)
        before = await everything(store, RUN, OTHER_RUN)
        assert await store.erase(ACME) == 0
        assert await everything(store, RUN, OTHER_RUN) == before

    async def test_what_is_not_meant_is_left(self, store: Store) -> None:
        bob = Scope(tenant="acme", principal="Ada", labels={"team": "Support"})
        await store_all(store, over(RUN, scope=ADA), over(OTHER_RUN, scope=bob, request=OTHER_REQUEST))
        before = await everything(store, OTHER_RUN)
        assert await store.erase(RunQuery(principal="ada")) == 1
        assert await everything(store, OTHER_RUN) == before

    async def test_of_a_tree_only_the_runs_that_are_meant_are_erased(self, store: Store) -> None:
        await store_all(
            store,
            over("root", scope=ADA),
            child("b", "root", "root", scope=ADA),
            admission("c", parent_run_id="root", root_run_id="root", ready_at=None, scope=ADA),
        )
        assert await store.erase(of("b", "c")) == 1
        erased = [(await store.get_run(RunId(run_id))).erased for run_id in ("root", "b", "c")]
        assert erased == [False, True, False]

    async def test_an_erased_run_stands_for_whoever_asks_for_its_id(self, store: Store) -> None:
        await store_all(store, over(RUN, scope=ADA))
        assert await store.erase(ACME) == 1
        erased = await everything(store, RUN)
        again = admission(RUN, request=OTHER_REQUEST, bodies=[b"again"])
        assert await store.admit(again.header, again.entries) == RUN
        assert await everything(store, RUN) == erased

    async def test_an_erased_run_is_purged_as_any(self, store: Store) -> None:
        await store_all(store, over(RUN, scope=ADA, idempotency_key="order-ada"))
        await store.erase(ACME)
        (header,) = await store.purge(ACME)
        assert (header.run_id, header.erased) == (RUN, True)

    async def test_nobody_is_erased_twice_or_half_where_an_erasure_is_cut(self, store: Store) -> None:
        ended = False
        for wait in range(MOST_CALLS):
            names = [f"run_{wait}_{number:02}" for number in range(20)]
            await store_all(store, *[over(name, scope=ADA) for name in names])
            ended = not await cut_short(store.erase(of(*names)), wait)
            for name in names:
                header = await store.get_run(RunId(name))
                assert header.scope == (SCRUBBED["scope"] if header.erased else ADA)
            await store.erase(of(*names))
            assert all([(await store.get_run(RunId(name))).erased for name in names])
            if ended:
                break
        assert ended

    async def test_an_open_run_can_be_erased_once_it_is_settled(self, store: Store) -> None:
        await store_all(store, admission(RUN, scope=ADA))
        assert await store.erase(ACME) == 0
        await end(store, (await claim(store)).lease)
        assert await store.erase(ACME) == 1

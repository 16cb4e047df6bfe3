"""Admissions: one Run an idempotency key, one a Run's id, told apart by every character."""

from __future__ import annotations

import pytest
from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import (
    OTHER_REQUEST,
    OTHER_RUN,
    RUN,
    WORKER,
    admission,
    admit,
    append,
    everything,
    settle,
)
from psych_runtime_core.errors import IdempotencyConflict, RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store

DECOMPOSED, COMPOSED = "cafe\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
NEARLY_EQUAL = ("order-1", "Order-1", "order-2", "order-1x", DECOMPOSED, COMPOSED, "ORDER-1", "order‑1")


class Admissions(StoreBase):
    """Which Run stands when one is to begin."""

    async def test_thirty_admissions_of_one_key_make_one_run(self, store: Store, second: Store) -> None:
        answers: list[str] = []

        async def dispatch(handle: Store, number: int) -> None:
            write = admission(f"run_{number}", idempotency_key="order", bodies=[b"%d" % number])
            answers.append(await handle.admit(write.header, write.entries))

        async with create_task_group() as group:
            for number in range(30):
                group.start_soon(dispatch, second if number % 2 else store, number)
        (winner,) = set(answers)
        assert len(answers) == 30
        ((header, log),) = await everything(store, winner)
        assert header.head == log[-1].head
        assert len((await store.claim(WORKER, limit=100)).claims) == 1

    async def test_a_key_used_for_another_request_conflicts(self, store: Store) -> None:
        header = await admit(store, idempotency_key="order")
        other = admission(OTHER_RUN, idempotency_key="order", request=OTHER_REQUEST)
        with pytest.raises(IdempotencyConflict) as caught:
            await store.admit(other.header, other.entries)
        assert (caught.value.key, caught.value.run_id) == ("order", RUN)
        assert await store.get_run(RUN) == header
        with pytest.raises(RunNotFound):
            await store.get_run(OTHER_RUN)

    async def test_a_key_answers_when_its_run_has_moved_on(self, store: Store) -> None:
        await admit(store, idempotency_key="order")
        again = admission(OTHER_RUN, idempotency_key="order", bodies=[b"again"])
        await append(store)
        assert await store.admit(again.header, again.entries) == RUN
        await settle(store)
        assert await store.admit(again.header, again.entries) == RUN
        assert (await store.get_run(RUN)).head.seq == 3

    async def test_keys_that_differ_at_all_are_different(self, store: Store) -> None:
        for number, key in enumerate(NEARLY_EQUAL):
            write = admission(f"run_{number}", idempotency_key=key)
            assert await store.admit(write.header, write.entries) == f"run_{number}"

    async def test_ids_and_tenants_that_differ_at_all_are_different(self, store: Store) -> None:
        for name in NEARLY_EQUAL:
            write = admission(name, tenant=name, idempotency_key="order")
            assert await store.admit(write.header, write.entries) == name
        for name in NEARLY_EQUAL:
            assert (await store.get_run(RunId(name))).scope.tenant == name

    async def test_runs_without_a_key_share_none(self, store: Store) -> None:
        await admit(store)
        assert (await admit(store, OTHER_RUN)).run_id == OTHER_RUN

    async def test_an_admission_of_a_stored_id_is_judged_by_its_request(self, store: Store) -> None:
        header = await admit(store)
        again = admission(bodies=[b"another salt"], priority=7)
        assert await store.admit(again.header, again.entries) == RUN
        other = admission(bodies=[b"another salt"], request=OTHER_REQUEST)
        with pytest.raises(IdempotencyConflict):
            await store.admit(other.header, other.entries)
        assert await everything(store, RUN) == [(header, admission().entries)]

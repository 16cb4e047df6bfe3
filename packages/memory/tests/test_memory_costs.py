"""A call on a large store is as much work as on a small one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from packages.memory.tests.work import lines_of
from psych_runtime.testing.clock import START, FakeClock
from psych_runtime_contract.store.scenes import (
    RUN,
    WAKE,
    admission,
    admit,
    append,
    claim,
    rest,
    without,
)
from psych_runtime_core.ports.claims import ClaimFilter
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import Lease, RunState
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_memory import InMemoryStore

FEW, MANY = 50, 1_000
SETTLED: dict[str, Any] = {"terminal": TerminalState.COMPLETED, "settled_at": START, "ready_at": None}


async def store_of(number: int, **also: Any) -> InMemoryStore:
    """A store with so many Runs of one kind, and one that is ready and comes first."""
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    await admit(store, priority=100)
    for each in range(number):
        write = admission(f"many_{each:05}", **also)
        await store.admit(write.header, write.entries)
    return store


KINDS = [
    pytest.param({}, id="ready"),
    pytest.param({"ready_at": None, "parked": True}, id="parked"),
    pytest.param({"version_hash": "left_out"}, id="of a Version that is left out"),
]


@pytest.mark.parametrize("also", KINDS)
async def test_a_claim_is_no_more_work_beside_many_runs(also: dict[str, Any]) -> None:
    few, many = [await store_of(number, **also) for number in (FEW, MANY)]
    only = without("left_out")
    assert await lines_of(claim(few, only=only)) == await lines_of(claim(many, only=only))


async def turn(store: InMemoryStore, lease: Lease) -> None:
    await store.renew([lease])
    await append(store, RUN, lease=lease)
    await append(store, RUN, change=rest(None), lease=lease)
    await append(store, RUN, change=WAKE)


@pytest.mark.parametrize("also", KINDS)
async def test_a_turn_of_a_run_is_no_more_work_beside_many(also: dict[str, Any]) -> None:
    work: list[int] = []
    for store in [await store_of(number, **also) for number in (FEW, MANY)]:
        taken = await claim(store)

        work.append(await lines_of(turn(store, taken.lease)))
    assert work[0] == work[1]


async def test_what_becomes_due_is_work_once() -> None:
    store = await store_of(MANY, ready_at=None)
    clock = store.clock
    assert isinstance(clock, FakeClock)
    for each in range(500):
        await admit(store, f"timer_{each:03}", ready_at=clock.now() + timedelta(seconds=1 + each))
    await clock.advance(1_000)
    first, *later = [await lines_of(claim(store)) for _ in range(4)]
    assert first > 500
    assert max(later) < 200


async def test_a_claim_of_one_tenant_among_many_is_no_more_work() -> None:
    work: list[int] = []
    for tenants in (5, 500):
        store = InMemoryStore(clock=FakeClock())
        for number in range(tenants):
            await admit(store, f"run_{number}", tenant=f"tenant_{number:03}")
        work.append(await lines_of(claim(store)))
        work.append(await lines_of(claim(store, only=ClaimFilter(tenants=frozenset({"tenant_003"})))))
    assert work[:2] == work[2:]


# --- pages ---------------------------------------------------------------------------------------------

PAGES = [
    pytest.param(RunQuery(limit=5), id="the newest"),
    pytest.param(RunQuery(tenant="acme", limit=5), id="of a tenant"),
    pytest.param(RunQuery(root_run_id=RUN, limit=5), id="of a tree"),
    pytest.param(RunQuery(idempotency_key="order", limit=5), id="of a key"),
    pytest.param(RunQuery(continues_run_id=RUN, limit=5), id="of a conversation"),
    pytest.param(RunQuery(run_ids=frozenset({RUN}), limit=5), id="by id"),
]


@pytest.mark.parametrize("query", PAGES)
async def test_a_page_is_no_more_work_among_many_runs(query: RunQuery) -> None:
    few, many = [await store_of(number) for number in (FEW, MANY)]
    assert await lines_of(few.find_runs(query)) == await lines_of(many.find_runs(query))


async def test_open_runs_are_found_at_once_among_settled_ones() -> None:
    opened = RunQuery(states=frozenset({RunState.RUNNABLE}), limit=5)
    work: list[int] = []
    for number in (FEW, MANY):
        store = await store_of(0)
        for each in range(number):
            write = admission(f"settled_{each:05}", **SETTLED)
            await store.admit(write.header, [replace(write.entries[0], type="run_settled")])
        work.append(await lines_of(store.find_runs(opened)))
        assert [header.run_id for header in (await store.find_runs(opened)).items] == [RUN]
    assert work[0] == work[1]


async def test_a_page_of_what_is_rare_looks_at_some_and_goes_on() -> None:
    store, rare = await store_of(MANY), RunQuery(name="rare", limit=5)
    await admit(store, "a_rare_one", name="rare", created_at=START - timedelta(days=1))
    pages = [await store.find_runs(rare)]
    while pages[-1].cursor:
        pages.append(await store.find_runs(rare, pages[-1].cursor))
    assert [header.run_id for page in pages for header in page.items] == ["a_rare_one"]
    assert len(pages) == -(-(MANY + 2) // 100)
    assert await lines_of(store.find_runs(rare)) < 2_000

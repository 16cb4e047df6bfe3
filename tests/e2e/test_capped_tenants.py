"""Tenants beside each other: one that may have one Run at work at a time, one that floods the queue."""

import asyncio
import time
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import pytest

from psych_runtime import InMemoryStore, RunId, Runtime, Scope, Store, ToolRegistry, Worker, dispatch
from psych_runtime.testing import FakeModel, StoreProxy, VirtualClock
from psych_runtime_core.ports.watch import Watch
from tests.e2e.stage import CountingStore, agent, at_work, begun, ended, in_virtual_time

RUNS = 20
CAPPED: dict[str, Any] = {"concurrency": 4, "poll_interval": 60, "tenant_concurrency": 1}


async def all_ended(stores: Sequence[Store], *, first: bool) -> None:
    """Twenty Runs, begun before the Workers come or beside them."""
    run_ids: list[RunId] = []
    async with AsyncExitStack() as stack:
        if first:
            run_ids = [await begun(stores[0], agent()) for _ in range(RUNS)]
        for store in stores:
            model = FakeModel().turn("Done.").repeat()
            await stack.enter_async_context(at_work(store, model, **CAPPED))
        if not first:
            run_ids = [await begun(stores[0], agent()) for _ in range(RUNS)]
        await asyncio.gather(*(ended(stores[0], run_id) for run_id in run_ids))


@pytest.mark.parametrize("first", [True, False], ids=["queued before", "begun beside"])
@pytest.mark.parametrize("workers", [1, 3])
@in_virtual_time
async def test_twenty_instant_runs_of_a_tenant_with_a_cap_of_one_take_two_seconds(
    workers: int, *, first: bool
) -> None:
    store = CountingStore(InMemoryStore(clock=VirtualClock()))
    began_at = store.clock.monotonic()
    await all_ended([store] * workers, first=first)
    assert store.clock.monotonic() - began_at < 2
    # Each end is told to all; then each asks once, and the one that got a Run once more.
    assert RUNS <= store.calls["claim"] <= (workers + 1) * (RUNS + 1)


class Unheard(StoreProxy):
    """A store that tells nobody of ready work."""

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        del ready
        return super().changes(run_ids)


@in_virtual_time
async def test_a_slot_that_frees_is_a_reason_to_claim_where_a_cap_left_work() -> None:
    store = Unheard(InMemoryStore(clock=VirtualClock()))
    began_at = store.clock.monotonic()
    await all_ended([store], first=True)
    assert store.clock.monotonic() - began_at < 2


@in_virtual_time
async def test_a_worker_serves_the_tenants_it_was_given_and_no_other() -> None:
    store = InMemoryStore(clock=VirtualClock())
    theirs = (await dispatch(store, agent(), Scope(tenant="globex"), input="Hello.")).run_id
    async with at_work(store, FakeModel().turn("Done.").repeat(), tenants=["acme"]):
        await ended(store, await begun(store, agent()))
        await asyncio.sleep(600)
    assert (await store.get_run(theirs)).epoch == 0


@in_virtual_time
async def test_a_flood_delays_the_run_of_another_tenant_by_one_round_of_the_slots() -> None:
    store = InMemoryStore(clock=VirtualClock())
    for number in range(300):
        await begun(store, agent(), message=f"Order {number}.", priority=100)
    model = FakeModel(clock=store.clock).turn("Done.", delay=1.0).repeat()
    async with at_work(store, model, concurrency=4, poll_interval=60):
        await asyncio.sleep(10.5)
        began_at = store.clock.monotonic()
        lone = (await dispatch(store, agent(), Scope(tenant="globex"), input="Hello.", priority=-100)).run_id
        await ended(store, lone)
        assert store.clock.monotonic() - began_at < 2.5, "what is at work ends, and then its own call"
        waiting = await store.stats(tenant="acme")
        assert waiting.ready > 200


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"tenant_concurrency": 0}, id="no room at all"),
        pytest.param({"tenant_concurrency": {"acme": 0, "*": 3}}, id="none for one tenant"),
        pytest.param({"tenants": [f"tenant_{number}" for number in range(1_001)]}, id="too many tenants"),
    ],
)
def test_a_worker_that_could_never_claim_is_not_made(options: dict[str, Any]) -> None:
    store = InMemoryStore()
    runtime = Runtime(store=store, model=FakeModel(), registry=ToolRegistry())
    with pytest.raises(ValueError, match=r"leased at once|at most 1000"):
        Worker(runtime, **options)
    with pytest.raises(TypeError, match="collection of tenants"):
        Worker(runtime, tenants="acme")


def test_a_worker_is_made_of_a_runtime_and_of_no_other_store_than_its_own() -> None:
    store = InMemoryStore()
    with pytest.raises(ValueError, match="a Worker needs a Runtime"):
        Worker(store)
    runtime = Runtime(store=InMemoryStore(), model=FakeModel(), registry=ToolRegistry())
    with pytest.raises(ValueError, match="the store given is not the Runtime's"):
        Worker(store, runtime)


@pytest.mark.parametrize("workers", [1, 2])
async def test_they_wait_for_no_poll_in_real_time(store: Store, workers: int) -> None:
    began_at = time.monotonic()
    await all_ended([store] * workers, first=True)
    assert time.monotonic() - began_at < 30, "half a poll interval"

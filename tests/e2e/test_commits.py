"""What a Run costs its store, counted."""

import asyncio
from collections.abc import Sequence

import pytest

from psych_runtime import (
    AllowAll,
    Decision,
    Head,
    InMemoryStore,
    Runtime,
    Scope,
    Store,
    ToolRegistry,
    Worker,
    answer,
    dispatch,
)
from psych_runtime.testing import FakeModel, Scenario, VirtualClock, crash_everywhere
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.writes import Append, Write
from tests.e2e.stage import (
    ACME,
    CountingStore,
    agent,
    at_work,
    begun,
    ended,
    in_virtual_time,
    registered,
    results,
    until,
)


class CommitsOfWorkers(CountingStore):
    """Counts the commits under a lease, too, by how many records they hold."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.commits: list[list[str]] = []

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        heads = await super().commit(writes)
        self.commits += [
            [entry.type for entry in write.entries]
            for write in writes
            if isinstance(write, Append) and write.lease
        ]
        return heads


def counting() -> CommitsOfWorkers:
    return CommitsOfWorkers(InMemoryStore(clock=VirtualClock()))


async def look_up(order_id: str) -> str:
    """What is known of an order."""
    await asyncio.sleep(1)
    return f"{order_id} has shipped"


def working(turns: int, calls: int = 1) -> FakeModel:
    """A model that makes so many calls in each of so many turns, and answers."""
    model = FakeModel()
    for turn in range(turns):
        model.turn(tool_calls=[("look_up", {"order_id": f"{turn}.{call}"}) for call in range(calls)])
    return model.turn("Done.")


@in_virtual_time
async def test_a_turn_with_one_tool_is_two_commits() -> None:
    store = counting()
    async with at_work(store, working(5), registered(look_up)):
        await ended(store, await begun(store, agent("look_up")))
    first, *middle, last = store.commits
    assert first == ["attempt_started", "turn_started", "model_call_started"]
    assert (
        middle
        == [
            ["model_call_finished", "tool_call_started"],
            ["tool_call_finished", "turn_started", "model_call_started"],
        ]
        * 5
    )
    assert last == ["model_call_finished", "run_settled"]


@in_virtual_time
async def test_parallel_tools_that_end_together_share_a_commit() -> None:
    store = counting()
    async with at_work(store, working(1, calls=5), registered(look_up)):
        await ended(store, await begun(store, agent("look_up")))
    assert store.commits[1] == ["model_call_finished", *["tool_call_started"] * 5]
    assert store.commits[2] == [*["tool_call_finished"] * 5, "turn_started", "model_call_started"]
    assert len(store.commits) == 4


@in_virtual_time
async def test_parallel_tools_take_as_long_as_one() -> None:
    store = counting()
    began = store.clock.monotonic()
    async with at_work(store, working(1, calls=16), registered(look_up)):
        await ended(store, await begun(store, agent("look_up")))
    assert store.clock.monotonic() - began < 1.5


class SlowPolicy(AllowAll):
    """Asks somebody far away."""

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        await asyncio.sleep(1)
        return Decision.allow()


@in_virtual_time
async def test_a_policy_that_takes_a_second_costs_one_commit_more_each_turn() -> None:
    store = counting()
    async with at_work(store, working(3), registered(look_up), runtime={"policy": SlowPolicy()}):
        await ended(store, await begun(store, agent("look_up")))
    assert store.commits[1:4] == [
        ["model_call_finished"],
        ["tool_call_started"],
        ["tool_call_finished", "turn_started", "model_call_started"],
    ]
    assert len(store.commits) == 2 + 3 * 3


def test_a_kill_while_a_policy_thinks_buys_no_answer_twice() -> None:
    models: list[FakeModel] = []

    def model() -> FakeModel:
        models.append(working(2))
        return models[-1]

    scenario = Scenario(
        agent("look_up"),
        lambda: registered(look_up, safe_to_retry=True),
        model,
        runtime={"policy": SlowPolicy()},
    )
    report = crash_everywhere(scenario)
    assert report.unknown == ()
    # The last answer may be paid for once more: its call is in flight at a point, and its end is not.
    assert max(len(played.calls) for played in models) == 4
    for played in models:
        asked_in = [call.context.turn for call in played.calls]
        assert len(asked_in) - len(set(asked_in)) <= 1


@in_virtual_time
async def test_a_worker_reads_nothing_that_it_wrote() -> None:
    store = counting()
    async with at_work(store, working(20), registered(look_up)):
        await begun(store, agent("look_up"))
        await until(lambda: bool(store.commits))
        store.calls.clear()
        await until(lambda: "run_settled" in store.commits[-1])
    assert store.calls["read"] == 0
    assert len(store.commits) == 42


@in_virtual_time
async def test_forty_instant_runs_wait_for_no_poll() -> None:
    store = counting()
    for _ in range(40):
        await begun(store, agent())
    began = store.clock.monotonic()
    async with at_work(store, FakeModel().turn("Done.", times=40), concurrency=4):
        await until(lambda: store.calls["commit"] == 80, 0.01)
    assert store.clock.monotonic() - began < 0.5
    assert store.calls["claim"] <= 41


@in_virtual_time
async def test_an_idle_worker_asks_once_in_each_interval_and_reads_nothing() -> None:
    store = counting()
    async with at_work(store, FakeModel(), poll_interval=5.0):
        await asyncio.sleep(0.1)
        store.calls.clear()
        await asyncio.sleep(600)
    assert 100 <= store.calls.pop("claim") <= 150
    assert not store.calls


@in_virtual_time
async def test_a_parked_run_costs_nothing() -> None:
    store = counting()
    async with at_work(store, working(1), registered(look_up, annotations="destructive"), poll_interval=60.0):
        run_id = await begun(store, agent("look_up"))
        await asyncio.sleep(1)
        header = await store.get_run(run_id)
        assert header.parked
        assert header.lease is None
        store.calls.clear()
        await asyncio.sleep(3_600)
    assert store.calls["claim"] < 80
    assert store.calls.keys() == {"claim"}


def test_one_runtime_and_one_store_serve_two_event_loops() -> None:
    store = InMemoryStore()
    runtime = Runtime(store=store, model=working(1).turn("Again."), registry=fast())

    async def asked() -> object:
        worker = Worker(runtime)
        running = asyncio.create_task(worker.run())
        run_id = (await dispatch(store, agent("look_up"), ACME, input="Hello.")).run_id
        await ended(store, run_id)
        worker.stop()
        await running
        return (await answer(store, run_id)).result()

    assert asyncio.run(asked()) == "Done."
    assert asyncio.run(asked()) == "Again."


def fast() -> ToolRegistry:
    async def look_up(order_id: str) -> str:
        """What is known of an order."""
        return order_id

    return registered(look_up)


@pytest.mark.parametrize("calls", [1, 3])
async def test_every_store_ends_with_the_same_log(store: Store, calls: int) -> None:
    async with at_work(store, working(2, calls), fast()):
        run_id = await begun(store, agent("look_up"))
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    assert [end.outcome for end in await results(store, run_id)] == ["ok"] * (2 * calls)

"""Runs that are stopped, and Workers that stop: what is cut, what is kept, what is handed over."""

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from psych_runtime import (
    Head,
    InMemoryStore,
    RunAlreadySettled,
    RunStateView,
    Store,
    ToolContext,
    Worker,
    approve,
    interrupt,
    send,
)
from psych_runtime.testing import EffectLedger, FakeModel, StoreProxy, VirtualClock
from psych_runtime_core.ports.writes import Append, Write
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.spec.limits import Limits
from tests.e2e.stage import (
    agent,
    at_work,
    audited,
    begun,
    ended,
    in_virtual_time,
    registered,
    results,
    seen,
    starts,
    types,
    until,
)

MINUTE = 60.0


class Sleeper:
    """A tool that sleeps, and knows what became of it."""

    def __init__(self, seconds: float = 10 * MINUTE, *, stubborn: bool = False) -> None:
        self.seconds, self.stubborn = seconds, stubborn
        self.began = self.ended = self.cancelled = 0

    async def sleep(self, name: str) -> str:
        """Take a while."""
        self.began += 1
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            await until(lambda: not self.stubborn, 1)
            raise
        self.ended += 1
        return f"slept for {name}"


def sleeping(calls: int = 1) -> FakeModel:
    return (
        FakeModel().turn(tool_calls=[("sleep", {"name": str(call)}) for call in range(calls)]).turn("Awake.")
    )


def is_running_a_tool(state: RunStateView) -> bool:
    return any(call.phase == "started" for call in state.calls.values())


def outcome(state: RunStateView) -> tuple[str, str | None]:
    assert state.settled is not None
    failure = state.settled.failure
    return state.settled.state, failure.kind if failure else None


# --- a Run is stopped --------------------------------------------------------------------------------------


async def test_a_queued_run_is_aborted_without_a_turn(store: Store) -> None:
    model = FakeModel()
    run_id = await begun(store, agent())
    await interrupt(store, run_id, reason="changed my mind")
    async with at_work(store, model):
        state = await ended(store, run_id)
    assert outcome(state) == ("aborted", None)
    assert model.calls == ()
    assert "turn_started" not in await types(store, run_id)


async def test_a_parked_run_is_aborted_and_an_approval_then_runs_nothing(store: Store) -> None:
    sleeper = Sleeper(0)
    async with at_work(store, sleeping(), registered(sleeper.sleep, annotations="destructive")):
        run_id = await begun(store, agent("sleep"))
        await seen(store, run_id, lambda state: state.parked)
        await interrupt(store, run_id)
        with pytest.raises(RunAlreadySettled):
            await approve(store, run_id)
        state = await ended(store, run_id)
    assert outcome(state) == ("aborted", None)
    assert [end.outcome for end in await results(store, run_id)] == [ToolOutcome.ABORTED]
    assert sleeper.began == 0
    with pytest.raises(RunAlreadySettled):
        await send(store, run_id, message="Too late.")


@in_virtual_time
async def test_a_streaming_answer_is_cut_off(virtual_store: Store) -> None:
    model = FakeModel().turn("At length.", delay=10 * MINUTE)
    clock = virtual_store.clock
    async with at_work(virtual_store, model):
        run_id = await begun(virtual_store, agent())
        await asyncio.sleep(1)
        asked_at = clock.monotonic()
        await interrupt(virtual_store, run_id)
        state = await ended(virtual_store, run_id)
    assert outcome(state) == ("aborted", None)
    assert clock.monotonic() - asked_at < 11
    assert state.meter.lost_model_calls == 1


@in_virtual_time
async def test_an_interruptible_tool_is_cancelled_at_once(virtual_store: Store) -> None:
    sleeper, ledger = Sleeper(), EffectLedger()
    async with at_work(virtual_store, sleeping(2), ledger.wrap(registered(sleeper.sleep))):
        run_id = await begun(virtual_store, agent("sleep"))
        await asyncio.sleep(1)
        await interrupt(virtual_store, run_id)
        state = await ended(virtual_store, run_id, ledger)
    assert outcome(state) == ("aborted", None)
    assert sleeper.cancelled == 2
    assert {end.outcome for end in await results(virtual_store, run_id)} == {ToolOutcome.ABORTED}


@in_virtual_time
async def test_a_tool_that_may_not_be_cut_records_its_result(virtual_store: Store) -> None:
    sleeper, ledger = Sleeper(30), EffectLedger()
    registry = ledger.wrap(registered(sleeper.sleep, interruptible=False))
    async with at_work(virtual_store, sleeping(), registry):
        run_id = await begun(virtual_store, agent("sleep"))
        await asyncio.sleep(1)
        await interrupt(virtual_store, run_id)
        state = await ended(virtual_store, run_id, ledger)
    assert outcome(state) == ("aborted", None)
    (end,) = await results(virtual_store, run_id)
    assert (end.outcome, end.result) == (ToolOutcome.OK, "slept for 0")


@in_virtual_time
async def test_one_that_outlasts_its_grace_is_given_up(virtual_store: Store) -> None:
    sleeper = Sleeper()
    clock = virtual_store.clock
    registry = registered(sleeper.sleep, interruptible=False)
    async with at_work(virtual_store, sleeping(), registry, grace_seconds=20):
        run_id = await begun(virtual_store, agent("sleep"))
        await asyncio.sleep(1)
        await interrupt(virtual_store, run_id)
        state = await ended(virtual_store, run_id)
        assert clock.monotonic() < 40
    assert outcome(state) == ("force_settled", "force_settled")
    (end,) = await results(virtual_store, run_id)
    assert end.outcome is ToolOutcome.UNKNOWN


@in_virtual_time
async def test_one_that_ignores_its_cancellation_is_given_up(virtual_store: Store) -> None:
    sleeper = Sleeper(stubborn=True)
    clock = virtual_store.clock
    async with at_work(virtual_store, sleeping(), registered(sleeper.sleep)):
        run_id = await begun(virtual_store, agent("sleep"))
        await asyncio.sleep(1)
        await interrupt(virtual_store, run_id)
        state = await ended(virtual_store, run_id)
        assert clock.monotonic() < 20
        sleeper.stubborn = False
        await asyncio.sleep(2)
    assert outcome(state) == ("force_settled", "force_settled")


async def test_a_thread_is_not_waited_for(store: Store) -> None:
    may_end, contexts = threading.Event(), list[ToolContext]()

    def block(context: ToolContext) -> str:
        """Hold a thread."""
        contexts.append(context)
        may_end.wait(10)
        return "late"

    model = FakeModel().turn(tool_calls=[("block", {})]).turn("Done.")
    async with at_work(store, model, registered(block)):
        run_id = await begun(store, agent("block"))
        await seen(store, run_id, is_running_a_tool)
        await until(lambda: bool(contexts), 0.005)
        began = time.monotonic()
        await interrupt(store, run_id)
        state = await ended(store, run_id)
        assert time.monotonic() - began < 5
    may_end.set()
    (end,) = await results(store, run_id)
    assert end.outcome is ToolOutcome.UNKNOWN
    assert contexts[0].cancelled
    assert outcome(state) == ("aborted", None)


@in_virtual_time
async def test_the_deadline_stops_what_runs(virtual_store: Store) -> None:
    sleeper, ledger = Sleeper(), EffectLedger()
    spec = agent("sleep", limits=Limits(deadline_seconds=30))
    clock = virtual_store.clock
    async with at_work(virtual_store, sleeping(), ledger.wrap(registered(sleeper.sleep))):
        run_id = await begun(virtual_store, spec)
        state = await ended(virtual_store, run_id, ledger)
        assert 30 <= clock.monotonic() < 31
    assert outcome(state) == ("aborted", "deadline")
    assert sleeper.cancelled == 1


@in_virtual_time
async def test_a_queued_run_past_its_deadline_is_settled(virtual_store: Store) -> None:
    run_id = await begun(virtual_store, agent(limits=Limits(deadline_seconds=30)))
    await asyncio.sleep(MINUTE)
    model = FakeModel()
    async with at_work(virtual_store, model):
        state = await ended(virtual_store, run_id)
    assert outcome(state) == ("aborted", "deadline")
    assert model.calls == ()


# --- a Worker stops ----------------------------------------------------------------------------------------


@in_virtual_time
async def test_drain_lets_what_is_in_flight_end_and_hands_the_run_over(virtual_store: Store) -> None:
    sleeper, ledger, model = Sleeper(20), EffectLedger(), sleeping()
    registry = ledger.wrap(registered(sleeper.sleep))
    async with at_work(virtual_store, model, registry) as worker:
        run_id = await begun(virtual_store, agent("sleep"))
        await asyncio.sleep(1)
        await worker.drain()
    assert sleeper.ended == 1
    header = await virtual_store.get_run(run_id)
    assert header.terminal is None
    assert header.lease is None
    await audited(virtual_store, run_id, ledger)
    async with at_work(virtual_store, model, registry):
        state = await ended(virtual_store, run_id, ledger)
    assert outcome(state) == ("completed", None)
    assert sleeper.began == 1
    assert header.crashes == 0


@in_virtual_time
async def test_drain_records_an_answer_that_is_paid_for(virtual_store: Store) -> None:
    model = FakeModel().turn("Thought over.", delay=20)
    async with at_work(virtual_store, model) as worker:
        run_id = await begun(virtual_store, agent())
        await asyncio.sleep(1)
        await worker.drain()
    async with at_work(virtual_store, model):
        state = await ended(virtual_store, run_id)
    assert outcome(state) == ("completed", None)
    assert len(model.calls) == 1


@in_virtual_time
@pytest.mark.parametrize("safe", [True, False], ids=["safe", "unsafe"])
async def test_stop_hands_over_what_it_cut(virtual_store: Store, safe: bool) -> None:
    sleeper, ledger, model = Sleeper(20), EffectLedger(), sleeping()
    registry = ledger.wrap(registered(sleeper.sleep, safe_to_retry=safe))
    clock = virtual_store.clock
    async with at_work(virtual_store, model, registry) as worker:
        run_id = await begun(virtual_store, agent("sleep"))
        await asyncio.sleep(1)
        began = clock.monotonic()
        worker.stop()
        await worker.drain()
        assert clock.monotonic() - began < 5
    header = await virtual_store.get_run(run_id)
    assert (header.terminal, header.lease, sleeper.cancelled) == (None, None, 1)
    async with at_work(virtual_store, model, registry):
        state = await ended(virtual_store, run_id, ledger)
    assert outcome(state) == ("completed", None)
    (end,) = await results(virtual_store, run_id)
    assert end.outcome == ("ok" if safe else "aborted")
    assert sleeper.began == (2 if safe else 1)
    assert header.crashes == 0


@in_virtual_time
async def test_stop_cuts_a_model_call_which_the_next_worker_makes_again(virtual_store: Store) -> None:
    model = FakeModel().turn("Thought over.", delay=20)
    clock = virtual_store.clock
    async with at_work(virtual_store, model) as worker:
        run_id = await begun(virtual_store, agent())
        await asyncio.sleep(1)
        worker.stop()
        await worker.drain()
        assert clock.monotonic() < 5
    assert (await virtual_store.get_run(run_id)).lease is None
    async with at_work(virtual_store, model):
        state = await ended(virtual_store, run_id)
    assert outcome(state) == ("completed", None)
    assert len(model.calls) == 2


@in_virtual_time
async def test_drain_that_takes_too_long_stops(virtual_store: Store) -> None:
    sleeper, model = Sleeper(), sleeping()
    registry = registered(sleeper.sleep, safe_to_retry=True)
    clock = virtual_store.clock
    async with at_work(virtual_store, model, registry) as worker:
        run_id = await begun(virtual_store, agent("sleep"))
        await asyncio.sleep(1)
        await worker.drain(timeout=10)
        assert clock.monotonic() < 20
    assert sleeper.cancelled == 1
    assert (await virtual_store.get_run(run_id)).terminal is None


class DrainingStore(StoreProxy):
    """Tells its Worker to drain, or to stop, in the middle of the commit of this number."""

    worker: Worker
    drained = False

    def __init__(self, store: Store, number: int, order: str) -> None:
        super().__init__(store)
        self._left, self._order = number, order

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        mine = any(isinstance(write, Append) and write.lease for write in writes)
        self._left -= mine
        if mine and self._left == 0:
            self._draining = asyncio.create_task(self._drain())
            await asyncio.sleep(0)
        return await super().commit(writes)

    async def _drain(self) -> None:
        if self._order == "stop":
            self.worker.stop()
        await self.worker.drain()
        self.drained = True


@in_virtual_time
@pytest.mark.parametrize("order", ["drain", "stop"])
@pytest.mark.parametrize("number", range(1, 8))
async def test_an_order_between_commit_and_run_leaves_nothing_unknown(number: int, order: str) -> None:
    ledger, model = EffectLedger(), FakeModel()
    for turn in range(3):
        model.turn(tool_calls=[("act", {"name": f"{turn}.{call}"}) for call in range(2)])
    model.turn("Done.")

    async def act(name: str) -> str:
        """Do something that may be done once."""
        return name

    registry = ledger.wrap(registered(act, interruptible=False))
    memory = InMemoryStore(clock=VirtualClock())
    store = DrainingStore(memory, number, order)
    async with at_work(store, model, registry) as store.worker:
        run_id = await begun(store, agent("act"))
        await until(lambda: store.drained)
    async with at_work(memory, model, registry):
        state = await ended(memory, run_id, ledger)
    assert outcome(state) == ("completed", None)
    assert {end.outcome for end in await results(memory, run_id)} == {ToolOutcome.OK}
    assert len(ledger.invocations) == 6


async def test_a_drained_worker_claims_nothing_more(store: Store) -> None:
    async with at_work(store, FakeModel().turn("Done.")) as worker:
        await worker.drain()
        run_id = await begun(store, agent())
        await asyncio.sleep(0.05)
        assert (await store.get_run(run_id)).epoch == 0
        with pytest.raises(RuntimeError, match="runs once"):
            await worker.run()


@in_virtual_time
async def test_a_tool_that_never_ends_holds_no_worker_longer_than_its_grace() -> None:
    sleeper = Sleeper(3_600, stubborn=True)
    store = InMemoryStore(clock=VirtualClock())
    registry = registered(sleeper.sleep, interruptible=False)
    async with at_work(store, sleeping(), registry, grace_seconds=30) as worker:
        run_id = await begun(store, agent("sleep"))
        await asyncio.sleep(1)
        worker.stop()
        await worker.drain()
        assert store.clock.monotonic() < 60
    header = await store.get_run(run_id)
    assert header.terminal is None
    assert header.lease is None
    sleeper.stubborn = False
    async with at_work(store, sleeping(), registry):
        await ended(store, run_id)
    assert set((await starts(store, run_id)).values()) == {1}

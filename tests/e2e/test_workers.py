"""Workers among themselves: leases lost, Runs that kill, Versions nobody serves, logs that contradict."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

import pytest

from psych_runtime import (
    AllowAll,
    Decision,
    Entry,
    Head,
    InMemoryStore,
    Lease,
    RunHeader,
    RunId,
    Scope,
    Store,
    StoreUnavailable,
    WorkerId,
    approve,
    interrupt,
    status,
)
from psych_runtime.testing import EffectLedger, FakeModel, StoreProxy, VirtualClock
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.claims import Renewed
from psych_runtime_core.ports.writes import HeaderAction, HeaderChange, Write
from psych_runtime_core.records import encode, stamp
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.turn import TurnStarted
from psych_runtime_core.spec.limits import Limits
from tests.e2e.stage import (
    CountingStore,
    agent,
    at_work,
    begun,
    ended,
    entries,
    in_virtual_time,
    registered,
    results,
    seen,
    types,
    until,
)

T = TypeVar("T")


async def act(name: str) -> str:
    """Do something that may be done once."""
    await asyncio.sleep(40)
    return f"did {name}"


def acting(calls: int = 1) -> FakeModel:
    return FakeModel().turn(tool_calls=[("act", {"name": str(call)}) for call in range(calls)]).turn("Done.")


# --- leases ------------------------------------------------------------------------------------------------


class Deaf(StoreProxy):
    """A store whose renewals fail from some moment on."""

    failing = False

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        if self.failing:
            raise StoreUnavailable("renew", "no route", "none")
        return await super().renew(leases, lease_seconds=lease_seconds)


@in_virtual_time
async def test_a_worker_that_cannot_renew_writes_nothing_and_cuts_its_tools_past_the_fence() -> None:
    store = InMemoryStore(clock=VirtualClock())
    deaf, ledger, model = Deaf(store), EffectLedger(clock=store.clock), acting()
    cancelled: list[float] = []

    async def act(name: str) -> str:
        """Do something."""
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.append(store.clock.monotonic())
            raise
        return name

    registry = ledger.wrap(registered(act))
    async with at_work(deaf, model, registry, worker_id="deaf", lease_seconds=30):
        run_id = await begun(store, agent("act"))
        await asyncio.sleep(1)
        deaf.failing = True
        await asyncio.sleep(28)
        # Renewed at 0 or 10 or so, so the fence has come by 37.
        await asyncio.sleep(10)
        assert len(cancelled) == 1
        before = await entries(store, run_id)
        await asyncio.sleep(60)
        assert await entries(store, run_id) == before


@in_virtual_time
async def test_a_lease_that_was_lost_ends_its_attempt_and_the_next_worker_recovers() -> None:
    store = InMemoryStore(clock=VirtualClock())
    deaf, ledger, model = Deaf(store), EffectLedger(clock=store.clock), acting()
    registry = ledger.wrap(registered(act))
    async with (
        at_work(deaf, model, registry, worker_id="deaf", lease_seconds=30),
        at_work(store, model, registry, worker_id="sound", lease_seconds=30, poll_interval=2),
    ):
        deaf.failing = True
        run_id = await begun(deaf, agent("act"))
        state = await ended(store, run_id, ledger)
    assert state.terminal_state == "completed"
    assert len(ledger.invocations) == 1


class Frozen(StoreProxy):
    """A store as a process sees it that is stopped in the middle of a commit, and goes on much later."""

    def __init__(self, store: Store, types: Sequence[str], seconds: float) -> None:
        super().__init__(store)
        self._types, self._seconds = list(types), seconds
        self.frozen = False

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        if [entry.type for write in writes for entry in write.entries] == self._types:
            self.frozen = True
            await self.clock.sleep(self._seconds)
        return await super().commit(writes)

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        while self.frozen:
            await self.clock.sleep(self._seconds)
            self.frozen = False
        return await super().renew(leases, lease_seconds=lease_seconds)


@in_virtual_time
@pytest.mark.parametrize(
    "types",
    [
        ["attempt_started", "turn_started", "model_call_started"],
        ["model_call_finished", "tool_call_started"],
        ["tool_call_finished", "turn_started", "model_call_started"],
        ["model_call_finished", "run_settled"],
    ],
    ids=lambda types: "-".join(types),
)
async def test_a_worker_that_was_frozen_past_its_lease_writes_nothing(types: Sequence[str]) -> None:
    store, ledger, model = InMemoryStore(clock=VirtualClock()), EffectLedger(), acting()
    frozen = Frozen(store, types, 120)
    registry = ledger.wrap(registered(act))
    async with at_work(frozen, model, registry, worker_id="frozen"):
        run_id = await begun(store, agent("act"))
        await until(lambda: frozen.frozen, 1)
        async with at_work(store, model, registry, worker_id="sound"):
            state = await ended(store, run_id, ledger)
            head = state.head_seq
            await asyncio.sleep(200)
    assert state.terminal_state == "completed"
    assert (await store.get_run(run_id)).head.seq == head
    assert len(ledger.invocations) == 1


# --- crashes -----------------------------------------------------------------------------------------------


async def crashed(store: Store, run_id: RunId, times: int) -> None:
    """So many Workers claim the Run and die without a word."""
    for _ in range(times):
        (claim,) = (await store.claim(WorkerId("dead"), lease_seconds=1)).claims
        assert claim.header.run_id == run_id
        await asyncio.sleep(2)


@in_virtual_time
async def test_a_run_that_kills_every_process_is_given_up(virtual_store: Store) -> None:
    run_id = await begun(virtual_store, agent(limits=Limits(deadline_seconds=86_400)))
    await crashed(virtual_store, run_id, 4)
    model = FakeModel()
    async with at_work(virtual_store, model, max_crashes=3):
        state = await ended(virtual_store, run_id)
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == "attempts_exhausted"
    assert model.calls == ()


@in_virtual_time
async def test_crashes_that_stay_below_the_limit_end_nothing(virtual_store: Store) -> None:
    run_id = await begun(virtual_store, agent())
    await crashed(virtual_store, run_id, 4)
    async with at_work(virtual_store, FakeModel().turn("Done.")):
        state = await ended(virtual_store, run_id)
    assert state.terminal_state == "completed"
    assert (await virtual_store.get_run(run_id)).crashes == 0


@in_virtual_time
async def test_a_run_that_crashed_before_rests_and_delays_no_other() -> None:
    store = InMemoryStore(clock=VirtualClock())
    poison = await begun(store, agent())
    await crashed(store, poison, 3)
    model = FakeModel().turn("Done.", times=2)
    async with at_work(store, model, concurrency=1):
        await asyncio.sleep(1)
        assert (await store.get_run(poison)).terminal is None
        other = await begun(store, agent())
        began = store.clock.monotonic()
        await ended(store, other)
        assert store.clock.monotonic() - began < 1
        await ended(store, poison)


# --- Versions that cannot be served ------------------------------------------------------------------------


@in_virtual_time
async def test_a_version_is_left_to_a_worker_that_has_its_tools(
    virtual_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    model, ledger = acting(), EffectLedger()
    async with at_work(virtual_store, model, worker_id="old"):
        runs = [await begun(virtual_store, agent("act")) for _ in range(3)]
        await asyncio.sleep(1)
        assert [await types(virtual_store, run_id) for run_id in runs] == [["run_admitted"]] * 3
        async with at_work(
            virtual_store, acting_for(3), ledger.wrap(registered(act)), worker_id="new", poll_interval=1
        ):
            for run_id in runs:
                state = await ended(virtual_store, run_id, ledger)
                assert state.terminal_state == "completed"
                assert state.worker_id == "new"
    warnings = [each for each in caplog.records if "cannot serve" in each.message]
    assert len(warnings) == 1
    assert "act" in warnings[0].message


def acting_for(runs: int) -> FakeModel:
    return FakeModel(play="per_lane").turn(tool_calls=[("act", {"name": "it"})]).turn("Done.")


@in_virtual_time
@pytest.mark.parametrize("due", ["abort", "deadline", "expiry"])
async def test_what_is_due_is_settled_by_a_worker_that_cannot_serve_the_version(
    virtual_store: Store, due: str
) -> None:
    async with at_work(virtual_store, acting(), registered(act, annotations="destructive")):
        run_id = await begun(virtual_store, agent("act"))
        await seen(virtual_store, run_id, lambda state: state.parked)
    if due == "abort":
        await interrupt(virtual_store, run_id)
    elif due == "deadline":
        wait = (await status(virtual_store, run_id)).pending_approvals[0]
        await approve(virtual_store, run_id, wait.wait_id)
        await asyncio.sleep(1_000)
    else:
        await asyncio.sleep(8 * 86_400)
    async with at_work(virtual_store, FakeModel()):
        state = await ended(virtual_store, run_id)
    assert state.terminal_state == ("abandoned" if due == "expiry" else "aborted")
    assert {end.outcome for end in await results(virtual_store, run_id)} == {ToolOutcome.ABORTED}


class Refusing(AllowAll):
    async def allow_run(self, scope: Scope, version: object) -> Decision:
        return Decision.deny("Not in this house.")


async def test_a_run_that_the_policy_refuses_fails_before_anything_begins(store: Store) -> None:
    model = FakeModel()
    async with at_work(store, model, runtime={"policy": Refusing()}):
        run_id = await begun(store, agent())
        state = await ended(store, run_id)
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == "access_denied"
    assert "Not in this house." in state.settled.failure.message
    ours = [each for each in await types(store, run_id) if each != "queue_enqueued"]
    assert ours == ["run_admitted", "attempt_started", "run_settled"]
    assert model.calls == ()


class Broken(AllowAll):
    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        raise OSError("the policy server is away")


async def test_a_policy_that_raises_denies(store: Store) -> None:
    ledger = EffectLedger()
    async with at_work(store, acting(), ledger.wrap(registered(act)), runtime={"policy": Broken()}):
        state = await ended(store, await begun(store, agent("act")), ledger)
    assert state.terminal_state == "completed"
    assert ledger.invocations == ()


# --- logs that contradict ----------------------------------------------------------------------------------


async def contradict(store: Store, run_id: RunId) -> None:
    """Append a record that no writer of ours would."""
    header = await store.get_run(run_id)
    record = stamp(
        TurnStarted(turn=7),
        run_id=run_id,
        seq=header.head.seq + 1,
        at=store.clock.now(),
        tenant=header.scope.tenant,
        epoch=0,
    )
    entry = encode(record, after=header.head, scope=header.scope, codec=store.codec)
    await store.append(run_id, header.head, [entry], HeaderChange(HeaderAction.WAKE))


@in_virtual_time
async def test_a_contradictory_log_is_set_aside_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    store = InMemoryStore(clock=VirtualClock())
    run_id, other = await begun(store, agent()), await begun(store, agent())
    await contradict(store, run_id)
    async with at_work(store, FakeModel().turn("Done.")):
        await ended(store, other)
        await asyncio.sleep(3_600)
    assert await types(store, run_id) == ["run_admitted", "turn_started"]
    header = await store.get_run(run_id)
    assert (header.terminal, header.lease, header.ready_at) == (None, None, None)
    errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "quarantined" in errors[0].message
    assert run_id in errors[0].message


@in_virtual_time
async def test_a_log_that_is_contradicted_under_way_is_set_aside(caplog: pytest.LogCaptureFixture) -> None:
    store = InMemoryStore(clock=VirtualClock())
    async with at_work(store, acting(), registered(act)):
        run_id = await begun(store, agent("act"))
        await asyncio.sleep(1)
        await contradict(store, run_id)
        await asyncio.sleep(3_600)
    assert (await store.get_run(run_id)).ready_at is None
    assert (await types(store, run_id))[-1] == "turn_started"
    assert len([each for each in caplog.records if each.levelno >= logging.ERROR]) == 1


class Forgetful(StoreProxy):
    """A store that is restored from a backup: from some moment on it knows nothing of the last entries."""

    def __init__(self, store: InMemoryStore, entries: int) -> None:
        super().__init__(store)
        self._memory, self._entries = store, entries

    async def forget(self, run_id: RunId) -> None:
        runs: object = vars(self._memory)["_runs"]
        logs = cast("dict[RunId, list[Entry]]", vars(runs)["_logs"])
        headers = cast("dict[RunId, RunHeader]", vars(runs)["_headers"])
        del logs[run_id][-self._entries :]
        headers[run_id] = headers[run_id].model_copy(update={"head": logs[run_id][-1].head})


@in_virtual_time
async def test_a_store_that_lost_what_it_acknowledged_fails_the_run_and_says_so() -> None:
    memory = InMemoryStore(clock=VirtualClock())
    store = Forgetful(memory, 2)
    async with at_work(store, acting(), registered(act)):
        run_id = await begun(store, agent("act"))
        await asyncio.sleep(1)
        await store.forget(run_id)
        state = await seen(store, run_id, lambda state: state.settled is not None)
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == "store_lost_entries"


# --- what a Worker shares ----------------------------------------------------------------------------------


@in_virtual_time
async def test_an_aborted_call_gives_its_place_to_the_next(virtual_store: Store) -> None:
    """One at a time: whoever is stopped before it ran, or while it did, blocks nobody."""

    async def act(name: str) -> str:
        """Do something."""
        await asyncio.sleep(5)
        return name

    class Slow(AllowAll):
        async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
            await asyncio.sleep(1)
            return Decision.allow()

    registry = registered(act, max_concurrency=1)
    model = acting_for(6)
    async with at_work(virtual_store, model, registry, runtime={"policy": Slow()}, concurrency=10):
        stopped = [await begun(virtual_store, agent("act")) for _ in range(3)]
        for run_id in stopped:
            await asyncio.sleep(1.0)
            await interrupt(virtual_store, run_id)
        for run_id in stopped:
            await ended(virtual_store, run_id)
        began = virtual_store.clock.monotonic()
        last = await begun(virtual_store, agent("act"))
        state = await ended(virtual_store, last)
        assert virtual_store.clock.monotonic() - began < 60
    assert state.terminal_state == "completed"


class StopsAtStart(StoreProxy):
    """Has the Run aborted at the very moment at which a Worker commits the start of a call."""

    done = False

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        for write in writes:
            if not self.done and "tool_call_started" in [entry.type for entry in write.entries]:
                self.done = True
                await interrupt(self._store, write.run_id)
        return await super().commit(writes)


@in_virtual_time
async def test_a_start_that_loses_to_an_abort_gives_its_place_back() -> None:
    async def act(name: str) -> str:
        """Do something."""
        return name

    store = StopsAtStart(InMemoryStore(clock=VirtualClock()))
    registry = registered(act, max_concurrency=1)
    async with at_work(store, acting_for(2), registry):
        first = await begun(store, agent("act"))
        assert (await ended(store, first)).terminal_state == "aborted"
        second = await begun(store, agent("act"))
        began = store.clock.monotonic()
        assert (await ended(store, second)).terminal_state == "completed"
        assert store.clock.monotonic() - began < 30


class Flaky(CountingStore):
    """Fails every call of one method for a while, having done nothing."""

    def __init__(self, store: Store, method: str, times: int, *, landed: bool = False) -> None:
        super().__init__(store)
        self._method, self._left, self._landed = method, times, landed

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        if name == self._method and self._left:
            self._left -= 1
            if self._landed:
                await super()._through(name, call)
            raise StoreUnavailable(name, "away", "unknown" if self._landed else "none")
        return await super()._through(name, call)


@in_virtual_time
@pytest.mark.parametrize("landed", [False, True], ids=["not done", "done"])
@pytest.mark.parametrize("method", ["claim", "read", "get_version", "renew", "release", "commit"])
async def test_a_store_that_is_away_for_a_moment_costs_a_moment(method: str, landed: bool) -> None:
    """Never a lease, a crash or an effect."""
    memory = InMemoryStore(clock=VirtualClock())
    store, ledger, model = Flaky(memory, method, 3, landed=landed), EffectLedger(), acting(2)
    registry = ledger.wrap(registered(act))
    async with at_work(store, model, registry):
        run_id = await begun(memory, agent("act"))
        state = await ended(memory, run_id, ledger)
        took = memory.clock.monotonic()
    assert state.terminal_state == "completed"
    assert len(ledger.invocations) == 2
    assert took < 50
    assert (await memory.get_run(run_id)).epoch == 1

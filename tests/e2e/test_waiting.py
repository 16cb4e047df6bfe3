"""Runs that wait for people: answers in any order, over restarts, edited, refused, late, or never."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import permutations

import pytest

from psych_runtime import (
    AllowAll,
    Answer,
    Clock,
    Decision,
    Head,
    RunAlreadySettled,
    RunId,
    RunStateView,
    Scope,
    Store,
    SuspensionExpired,
    ToolRegistry,
    WaitNotFound,
    approve,
    deny,
    resume_all,
    status,
)
from psych_runtime.testing import EffectLedger, FakeModel, StoreProxy
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition, ToolResultMessage
from psych_runtime_core.ports.writes import Append, Write
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.spec.policies import SuspensionPolicy
from tests.e2e.stage import agent, at_work, begun, ended, in_virtual_time, registered, results, seen, starts

DAY = 86_400.0


def tools() -> ToolRegistry:
    registry = ToolRegistry()

    @registry.register(annotations="destructive")
    async def refund(order_id: str, cents: int = 100) -> str:
        """Pay money back."""
        return f"refunded {cents} for {order_id}"

    @registry.register
    async def note(text: str) -> str:
        """Write a line into the file."""
        return f"noted: {text}"

    return registry


SPEC = agent("refund", "note")


def refunding(*order_ids: str) -> FakeModel:
    """Refunds all of these in one turn, notes something beside, and answers."""
    calls = [("refund", {"order_id": order_id}) for order_id in order_ids]
    return FakeModel().turn(tool_calls=[*calls, ("note", {"text": "beside"})]).turn("Done.")


def is_parked(state: RunStateView) -> bool:
    return state.parked


def waits_of(state: RunStateView) -> dict[str, str]:
    """The open Waits by the order that each is about."""
    found: dict[str, str] = {}
    for wait in state.open_waits:
        assert wait.arguments is not None
        found[str(wait.arguments["order_id"])] = wait.wait_id
    return found


def told(model: FakeModel) -> list[str]:
    """What the model was told of its calls, in their order."""
    return [each.text for each in model.last_request.messages if isinstance(each, ToolResultMessage)]


async def test_a_call_that_needs_nobody_runs_beside_those_that_wait(store: Store) -> None:
    ledger = EffectLedger()
    async with at_work(store, refunding("A", "B"), ledger.wrap(tools())):
        run_id = await begun(store, SPEC)
        await seen(store, run_id, is_parked)
    assert [each.tool for each in ledger.invocations] == ["note"]
    shown = await status(store, run_id)
    assert [each.arguments for each in shown.pending_approvals] == [{"order_id": "A"}, {"order_id": "B"}]
    assert (await store.get_run(run_id)).lease is None


@pytest.mark.parametrize("order", ["".join(each) for each in permutations("ABC")])
async def test_answers_come_in_any_order_each_to_its_own_call(store: Store, order: str) -> None:
    model, ledger = refunding("A", "B", "C"), EffectLedger()
    async with at_work(store, model, ledger.wrap(tools()), poll_interval=0.5):
        run_id = await begun(store, SPEC)
        waits = waits_of(await seen(store, run_id, is_parked))
        for order_id in order:
            if order_id == "B":
                await deny(store, run_id, waits["B"], reason="not this one")
            else:
                cents = {"A": 1, "C": 3}[order_id]
                await approve(
                    store, run_id, waits[order_id], arguments={"order_id": order_id, "cents": cents}
                )
        await ended(store, run_id, ledger)
    a, b, c, beside = told(model)
    assert a.endswith("refunded 1 for A")
    assert "not this one" in b
    assert c.endswith("refunded 3 for C")
    assert beside == "noted: beside"
    assert len(ledger.invocations) == 3


async def test_answers_come_across_workers(store: Store) -> None:
    model, ledger = refunding("A", "B"), EffectLedger()
    registry = ledger.wrap(tools())
    async with at_work(store, model, registry):
        run_id = await begun(store, SPEC)
        waits = waits_of(await seen(store, run_id, is_parked))
    await approve(store, run_id, waits["B"])
    async with at_work(store, model, registry):
        await seen(store, run_id, lambda state: len(state.waits) == 1 and state.parked)
    async with at_work(store, model, registry):
        await asyncio.sleep(0.05)
        await approve(store, run_id, waits["A"])
        state = await ended(store, run_id, ledger)
    assert state.attempt_count >= 3
    assert [each.tool for each in ledger.invocations] == ["note", "refund", "refund"]
    assert told(model)[:2] == ["refunded 100 for A", "refunded 100 for B"]


async def test_one_batch_answers_many(store: Store) -> None:
    async with at_work(store, refunding("A", "B"), tools()):
        run_id = await begun(store, SPEC)
        waits = waits_of(await seen(store, run_id, is_parked))
        await resume_all(
            store, run_id, {waits["A"]: Answer(approved=True), waits["B"]: Answer(approved=False)}
        )
        await ended(store, run_id)
    outcomes = sorted(end.outcome for end in await results(store, run_id))
    assert outcomes == [ToolOutcome.OK, ToolOutcome.OK, ToolOutcome.REFUSED]


async def test_edited_arguments_are_what_runs_and_the_model_is_told(store: Store) -> None:
    model, ledger = refunding("A"), EffectLedger()
    async with at_work(store, model, ledger.wrap(tools())):
        run_id = await begun(store, SPEC)
        await seen(store, run_id, is_parked)
        await approve(store, run_id, arguments={"order_id": "A", "cents": 7}, by="ada")
        await ended(store, run_id, ledger)
    (first, _) = told(model)
    assert "A person changed the arguments" in first
    assert first.endswith("refunded 7 for A")


async def test_edited_arguments_are_checked_like_any(store: Store) -> None:
    ledger = EffectLedger()
    async with at_work(store, refunding("A"), ledger.wrap(tools())):
        run_id = await begun(store, SPEC)
        await seen(store, run_id, is_parked)
        await approve(store, run_id, arguments={"order_id": "A", "cents": "a lot"})
        await ended(store, run_id, ledger)
    assert [each.tool for each in ledger.invocations] == ["note"]
    assert {end.failure.kind for end in await results(store, run_id) if end.failure} == {"invalid_arguments"}


async def test_a_person_may_take_every_argument_away(store: Store) -> None:
    async def wipe(path: str = "nothing") -> str:
        """Remove a file."""
        return f"wiped {path}"

    model, ledger = FakeModel().turn(tool_calls=[("wipe", {"path": "all"})]).turn("Done."), EffectLedger()
    async with at_work(store, model, ledger.wrap(registered(wipe, annotations="destructive"))):
        run_id = await begun(store, agent("wipe"))
        await seen(store, run_id, is_parked)
        await approve(store, run_id, arguments={})
        await ended(store, run_id, ledger)
    (only,) = told(model)
    assert only.endswith("wiped nothing")


async def test_a_remembered_yes_lets_the_next_call_pass(store: Store) -> None:
    model = (
        FakeModel()
        .turn(tool_calls=[("refund", {"order_id": "A"})])
        .turn(tool_calls=[("refund", {"order_id": "B"})])
        .turn("Done.")
    )
    async with at_work(store, model, tools()):
        run_id = await begun(store, SPEC)
        await seen(store, run_id, is_parked)
        await approve(store, run_id, remember="tool")
        await ended(store, run_id)
    assert [end.outcome for end in await results(store, run_id)] == ["ok", "ok"]


class Fickle(AllowAll):
    """Denies what it is told to, from now on."""

    def __init__(self) -> None:
        self.denied = False

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        return Decision.deny("Not today.") if self.denied and tool.name == "refund" else Decision.allow()

    async def permitted_tools(self, scope: Scope, source: str | None) -> Sequence[str] | None:
        return None


class Withdrawing(Fickle):
    """Withdraws the tool in place of denying the call."""

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        return Decision.allow()

    async def permitted_tools(self, scope: Scope, source: str | None) -> Sequence[str] | None:
        return ["note"] if self.denied else None


@pytest.mark.parametrize("policy", [Fickle(), Withdrawing()], ids=["denied", "withdrawn"])
async def test_an_approved_call_that_may_not_run_any_more_does_not(store: Store, policy: Fickle) -> None:
    policy.denied, ledger = False, EffectLedger()
    async with at_work(store, refunding("A"), ledger.wrap(tools()), runtime={"policy": policy}):
        run_id = await begun(store, SPEC)
        await seen(store, run_id, is_parked)
        policy.denied = True
        await approve(store, run_id)
        await ended(store, run_id, ledger)
    assert [each.tool for each in ledger.invocations] == ["note"]
    assert "access_denied" in {end.failure.kind for end in await results(store, run_id) if end.failure}


@in_virtual_time
async def test_waiting_does_not_count_against_the_deadline(virtual_store: Store) -> None:
    spec = agent("refund", "note", limits=Limits(deadline_seconds=60))
    async with at_work(virtual_store, refunding("A"), tools(), poll_interval=600):
        run_id = await begun(virtual_store, spec)
        await asyncio.sleep(DAY)
        assert (await status(virtual_store, run_id)).parked
        await approve(virtual_store, run_id)
        state = await ended(virtual_store, run_id)
    assert state.terminal_state == "completed"
    assert state.parked_seconds == pytest.approx(DAY, abs=5)


@in_virtual_time
async def test_an_approval_that_nobody_gives_ends_the_run_though_nobody_calls(virtual_store: Store) -> None:
    spec = agent("refund", "note", suspension=SuspensionPolicy(approval_expires_seconds=3_600))
    ledger = EffectLedger()
    clock = virtual_store.clock
    async with at_work(virtual_store, refunding("A"), ledger.wrap(tools())):
        began = clock.monotonic()
        run_id = await begun(virtual_store, spec)
        state = await ended(virtual_store, run_id, ledger)
        took = clock.monotonic() - began
    assert state.terminal_state == "abandoned"
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == "suspension_expired"
    assert [each.tool for each in ledger.invocations] == ["note"]
    assert 3_600 <= took < 3_601
    with pytest.raises((RunAlreadySettled, WaitNotFound, SuspensionExpired)):
        await approve(virtual_store, run_id)


class Overtaking(StoreProxy):
    """Has somebody answer the Wait at the very moment at which a Worker settles its expiry."""

    answered = False

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        for write in writes:
            types = [entry.type for entry in write.entries]
            if isinstance(write, Append) and write.lease and "resumed" in types and not self.answered:
                self.answered = True
                header = await self._store.get_run(write.run_id)
                assert header.waits
                await self.answer(write.run_id)
        return await super().commit(writes)

    async def answer(self, run_id: RunId) -> None:
        """As a person does whose clock is a second behind."""
        state = await seen(self._store, run_id, is_parked)
        early = _Early(self._store)
        await approve(early, run_id, state.open_waits[0].wait_id)


class _Early(StoreProxy):
    @property
    def clock(self) -> Clock:
        return _Behind(self._store.clock)


class _Behind:
    def __init__(self, clock: Clock) -> None:
        self.monotonic, self.sleep, self._clock = clock.monotonic, clock.sleep, clock

    def now(self) -> datetime:
        return self._clock.now() - timedelta(seconds=5)


@in_virtual_time
async def test_an_answer_that_overtakes_the_expiry_is_the_answer(virtual_store: Store) -> None:
    store = Overtaking(virtual_store)
    spec = agent("refund", "note", suspension=SuspensionPolicy(approval_expires_seconds=3_600))
    began = store.clock.monotonic()
    async with at_work(store, refunding("A"), tools()):
        run_id = await begun(store, spec)
        state = await ended(store, run_id)
    assert store.answered
    assert state.terminal_state == "completed"
    assert store.clock.monotonic() - began < 3_610


async def test_an_answer_after_the_end_changes_nothing(store: Store) -> None:
    async with at_work(store, refunding("A"), tools()):
        run_id = await begun(store, SPEC)
        waits = waits_of(await seen(store, run_id, is_parked))
        await approve(store, run_id, waits["A"], by="ada")
        await ended(store, run_id)
    head = (await store.get_run(run_id)).head
    await approve(store, run_id, waits["A"], by="ada")
    with pytest.raises((WaitNotFound, RunAlreadySettled)):
        await deny(store, run_id, waits["A"], by="bob")
    assert (await store.get_run(run_id)).head == head
    assert set((await starts(store, run_id)).values()) == {1}

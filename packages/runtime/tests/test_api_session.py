"""A session: ports and a Worker in one line."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from anyio import Event, fail_after

from packages.runtime.tests.api_scenes import ACME, RIVAL, CountingStore
from psych_runtime import (
    AccessDenied,
    AgentSpec,
    CodeTool,
    HttpTool,
    InMemoryStore,
    Lifecycle,
    ModelRef,
    NoFreeSlot,
    RunFailed,
    RunId,
    Scope,
    Session,
    SpecValidationError,
    Store,
    StoreUnavailable,
    SystemClock,
    ToolRegistry,
    ToolSchemaError,
    Version,
    Watch,
    session,
)
from psych_runtime.testing import FakeClock, FakeModel, ToolCallScript

SPEC = AgentSpec(name="clerk", model=ModelRef(model="m"))


def using(*tools: str, name: str = "clerk") -> AgentSpec:
    """An agent that may call these tools."""
    return AgentSpec(name=name, model=ModelRef(model="m"), tools=tuple(CodeTool(name=tool) for tool in tools))


def calling(*tools: str) -> FakeModel:
    """A model that calls these tools side by side, then says done; of any other agent it says yes."""
    model = FakeModel()
    model.turn("yes").repeat()
    model.agent("boss").turn(tool_calls=[ToolCallScript(tool, {}) for tool in tools]).turn("done")
    return model


# --- asking ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [SPEC, Version.of(SPEC)], ids=["a Spec", "a Version"])
async def test_asking_gives_the_answer(what: AgentSpec | Version) -> None:
    async with session(FakeModel().turn("hello Ada")) as psych:
        answer = await psych.ask(what, "hello")
    assert (answer.finished, answer.result()) == (True, "hello Ada")


async def test_a_published_hash_can_be_asked() -> None:
    async with session(FakeModel().turn("hi")) as psych:
        version = await psych.publish(SPEC)
        assert (await psych.ask(version.hash, input={"n": 1})).text == "hi"


async def test_a_run_is_started_and_waited_for() -> None:
    async with session(FakeModel().turn("hi").turn("ho")) as psych:
        started = await psych.start(SPEC, "hello", idempotency_key="k", priority=1)
        assert started.created
        assert (await psych.wait(started.run_id)).text == "hi"
        assert (await psych.wait(started.run_id)).text == "hi"
        again = await psych.start(SPEC, "hello", idempotency_key="k")
        assert (again.run_id, again.created) == (started.run_id, False)


async def test_a_run_that_fails_comes_back_unfinished() -> None:
    model = FakeModel().raises_permanent()
    async with session(model) as psych:
        answer = await psych.ask(SPEC, "hello")
    assert (answer.finished, answer.lifecycle) == (False, Lifecycle.FAILED)
    with pytest.raises(RunFailed):
        answer.result()


async def test_a_run_that_is_late_comes_back_unfinished_and_goes_on() -> None:
    go_on = Event()

    async def patient() -> str:
        """Waits."""
        await go_on.wait()
        return "ok"

    async with session(calling("patient"), tools=[patient]) as psych:
        answer = await psych.ask(using("patient", name="boss"), "hello", timeout=0)
        assert (answer.finished, answer.terminal_state) == (False, None)
        with pytest.raises(TimeoutError):
            answer.result()
        go_on.set()
        assert (await psych.wait(answer.run_id)).text == "done"


async def test_a_message_and_an_input_are_one_too_many() -> None:
    async with session(FakeModel()) as psych:
        with pytest.raises(TypeError, match="message"):
            await psych.ask(SPEC, "hello", input={"n": 1})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        pytest.param({}, "give a message, or input", id="nothing"),
        pytest.param({"message": None}, "give a message, or input", id="none"),
        pytest.param({"input": None}, "give a message, or input", id="no input"),
        pytest.param({"message": " \n"}, "the message is blank", id="blanks"),
        pytest.param({"message": []}, "the parts say nothing", id="no parts"),
    ],
)
async def test_a_run_that_is_asked_nothing_is_not_admitted(said: dict[str, Any], told: str) -> None:
    class Shut(InMemoryStore):
        async def admit(self, header: Any, entries: Any) -> RunId:
            raise AssertionError(header, entries)

    async with session(FakeModel(), store=Shut()) as psych:
        for say in (psych.ask, psych.start):
            with pytest.raises(ValueError, match=told):
                await say(Version.of(SPEC), **said)


async def test_what_is_no_spec_is_told_what_to_give() -> None:
    what: Any = {"name": "a"}
    async with session(FakeModel()) as psych:
        with pytest.raises(TypeError, match="give a Spec, a Version or its hash, not dict"):
            await psych.ask(what, "hello")


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf")])
async def test_a_timeout_is_a_time(timeout: float) -> None:
    async with session(FakeModel()) as psych:
        with pytest.raises(ValueError, match="timeout"):
            await psych.ask(SPEC, "hello", timeout=timeout)
        with pytest.raises(ValueError, match="timeout"):
            await psych.wait("run_1", timeout=timeout)


# --- what a session is made of -----------------------------------------------------------------------------


async def test_a_session_holds_its_ports_and_its_scope() -> None:
    store, registry = InMemoryStore(), ToolRegistry()
    async with session(
        FakeModel(), store=store, registry=registry, tenant="acme", principal="ada", concurrency=2
    ) as psych:
        assert (psych.store, psych.registry, psych.scope) == (store, registry, ACME)
        assert (psych.runtime.store, psych.runtime.registry) == (store, registry)
        assert psych.worker.concurrency == 2
        run = await psych.start(SPEC, "hello")
        other = await psych.start(SPEC, "hello", scope=RIVAL)
    assert (await store.get_run(run.run_id)).scope == ACME
    assert (await store.get_run(other.run_id)).scope == RIVAL


async def test_a_session_waits_for_its_own_tenants_runs_alone() -> None:
    store = InMemoryStore()
    async with session(FakeModel().turn("hi"), store=store) as psych:
        run = await psych.start(SPEC, "hello", scope=RIVAL)
        with pytest.raises(AccessDenied):
            await psych.wait(run.run_id)
        assert (await psych.wait(run.run_id, scope=RIVAL)).text == "hi"


async def test_a_session_without_ports_makes_its_own() -> None:
    async with session(FakeModel()) as psych:
        assert isinstance(psych.store, InMemoryStore)
        assert psych.registry.names == ()
        assert psych.scope == Scope(tenant="local")


async def test_the_tools_of_a_session_leave_a_given_registry_as_it_was() -> None:
    def mine() -> str:
        """Mine."""
        return "mine"

    def ours() -> str:
        """Ours."""
        return "ours"

    registry = ToolRegistry()
    registry.register(ours)
    async with session(FakeModel(), registry=registry, tools=[mine]) as psych:
        assert psych.registry.names == ("ours", "mine")
    assert registry.names == ("ours",)
    with pytest.raises(ToolSchemaError):
        async with session(FakeModel(), registry=registry, tools=[ours]):
            pass


async def test_an_unknown_keyword_is_a_type_error() -> None:
    make: Callable[..., Any] = session
    with pytest.raises(TypeError, match="colour"):
        async with make(FakeModel(), colour="red"):
            pass


async def test_a_store_with_another_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="clock"):
        async with session(FakeModel(), store=InMemoryStore(), clock=FakeClock()):
            pass


async def test_a_spec_is_validated_against_what_the_session_can_serve() -> None:
    async with session(FakeModel()) as psych:
        with pytest.raises(SpecValidationError):
            await psych.start(using("absent"), "hello")


async def test_two_specs_of_one_name_never_meet() -> None:
    other = AgentSpec(name="clerk", model=ModelRef(model="m"), instructions="Be brief.")
    async with session(FakeModel()) as psych:
        first, second = await psych.publish(SPEC), await psych.publish(other)
        assert first.hash != second.hash
        assert await psych.publish(SPEC) is first


# --- leaving -------------------------------------------------------------------------------------------


class Trouble(Exception):
    """What the body raises."""


async def test_what_the_body_raises_comes_out_as_it_is() -> None:
    with pytest.raises(Trouble):
        async with session(FakeModel()):
            raise Trouble


async def test_what_ended_the_worker_is_raised_by_who_waits_for_a_run() -> None:
    class Deaf(CountingStore):
        def changes(
            self, run_ids: Collection[RunId] = (), *, ready: bool = False
        ) -> AbstractAsyncContextManager[Watch]:
            if ready:
                raise StoreUnavailable("changes", "it cannot be watched", "none")
            return super().changes(run_ids, ready=ready)

    with pytest.raises(StoreUnavailable, match="it cannot be watched"), fail_after(5):
        async with session(FakeModel().turn("never"), store=Deaf()) as s:
            await s.ask(SPEC, "hello")


async def test_a_session_that_was_left_takes_no_more() -> None:
    async with session(FakeModel().turn("yes")) as s:
        await s.ask(SPEC, "hello")
    with pytest.raises(RuntimeError, match="nobody drives its Runs"), fail_after(5):
        await s.ask(SPEC, "hello")


async def test_one_function_is_no_sequence_of_tools() -> None:
    async def look() -> str:
        """Look."""
        return "seen"

    tools: Any = look
    with pytest.raises(TypeError, match=r"write tools=\[…\]"):
        async with session(FakeModel(), tools=tools):
            raise AssertionError("it was entered")


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        (HttpTool(name="a", description="An a.", url="https://a.example/"), "an HttpTool"),
        (CodeTool(name="a"), "a CodeTool"),
    ],
    ids=["HTTP", "code"],
)
async def test_a_tool_that_is_data_belongs_into_the_spec(tool: Any, told: str) -> None:
    with pytest.raises(ToolSchemaError, match=f"{told} is data: put it into the Spec's `tools`"):
        async with session(FakeModel(), tools=[tool]):
            raise AssertionError("it was entered")


async def test_a_session_that_is_left_at_once_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    async with session(FakeModel()):
        pass
    assert asyncio.all_tasks() == before


async def test_a_session_that_is_cancelled_hands_its_runs_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psych_runtime.sessions.DRAIN_SECONDS", 0.05)
    store = InMemoryStore()
    reached = Event()

    async def stuck() -> str:
        """Never ends."""
        reached.set()
        await asyncio.Event().wait()
        return ""

    async def main() -> None:
        async with session(calling("stuck"), store=store, tools=[stuck]) as psych:
            run = await psych.start(using("stuck", name="boss"), "hello")
            runs.append(run.run_id)
            await asyncio.Event().wait()

    runs: list[RunId] = []
    task = asyncio.create_task(main())
    with fail_after(20):
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    header = await store.get_run(runs[0])
    assert (header.terminal, header.lease) == (None, None)


# --- asking inside a tool ---------------------------------------------------------------------------------

Inside = Callable[[Session], Awaitable[object]]


async def asks(psych: Session) -> object:
    return (await psych.ask(SPEC, "may I?")).text


async def waits(psych: Session) -> object:
    run = await psych.start(SPEC, "may I?")
    return (await psych.wait(run.run_id)).text


async def inside(act: Inside, concurrency: int, calls: int = 1, store: Store | None = None) -> list[object]:
    """What `act` gave or raised in each of the calls of a tool, side by side."""
    ended: list[object] = []

    async def tool() -> str:
        """Acts."""
        try:
            ended.append(await act(psych))
        except NoFreeSlot as error:
            ended.append(error)
        return "ok"

    model = calling(*["tool"] * calls)
    async with session(model, store=store, tools=[tool], concurrency=concurrency) as psych:
        answer = await psych.ask(using("tool", name="boss"), "go", timeout=20)
        assert answer.text == "done"
    return ended


@pytest.mark.parametrize("act", [asks, waits])
async def test_inside_a_tool_a_run_is_awaited_while_a_slot_is_free(act: Inside) -> None:
    assert await inside(act, concurrency=2) == ["yes"]


@pytest.mark.parametrize("act", [asks, waits])
async def test_inside_a_tool_without_a_free_slot_waiting_is_refused(act: Inside) -> None:
    (refused,) = await inside(act, concurrency=1)
    assert isinstance(refused, NoFreeSlot)
    assert refused.concurrency == 1


async def test_who_is_refused_has_dispatched_nothing() -> None:
    store = CountingStore(SystemClock())
    (refused,) = await inside(asks, concurrency=1, store=store)
    assert isinstance(refused, NoFreeSlot)
    assert store.calls["admit"] == 1


async def test_of_two_that_ask_at_once_for_the_last_slot_one_is_refused() -> None:
    ended = await inside(asks, concurrency=2, calls=2)
    assert sorted(map(str, ended), key=len)[0] == "yes"
    assert sum(isinstance(end, NoFreeSlot) for end in ended) == 1


async def test_a_settled_run_needs_no_slot() -> None:
    async def looks_back(psych: Session) -> object:
        return (await psych.wait(earlier[0])).text

    earlier: list[RunId] = []

    async def tool() -> str:
        """Looks back."""
        return str(await looks_back(psych))

    async with session(calling("tool"), tools=[tool], concurrency=1) as psych:
        earlier.append((await psych.ask(SPEC, "first")).run_id)
        assert (await psych.ask(using("tool", name="boss"), "go")).text == "done"


async def test_a_tool_may_ask_another_session() -> None:
    async def tool() -> str:
        """Asks elsewhere."""
        async with session(FakeModel().turn("from elsewhere"), concurrency=1) as other:
            return str((await other.ask(SPEC, "hello")).result())

    model = calling("tool")
    async with session(model, tools=[tool], concurrency=1) as psych:
        assert (await psych.ask(using("tool", name="boss"), "go")).text == "done"
    assert "from elsewhere" in str(model.last_request)

"""What a consumer plugs in may raise and give anything: its Run hears of it, no Worker dies of it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

from psych_runtime import (
    AllowAll,
    Claims,
    InMemoryStore,
    Lease,
    Scope,
    Store,
    TransientError,
    interrupt,
)
from psych_runtime.testing import EffectLedger, FakeModel, StoreProxy, VirtualClock
from psych_runtime_core.messages import FinishReason, ToolDefinition
from psych_runtime_core.ports.claims import Renewed
from psych_runtime_core.ports.model import ModelCallContext, ModelCapabilities, StreamDone, TextDelta
from psych_runtime_core.ports.policy import Decision
from psych_runtime_core.records import PlainCodec
from psych_runtime_core.spec.limits import Limits
from tests.e2e.stage import agent, at_work, begun, ended, in_virtual_time, registered, seen, types

ONCE = agent(limits=Limits(transient_retry_budget=0))
STOP = FinishReason.STOP


async def act() -> str:
    """Do something."""
    return "did it"


def acting() -> FakeModel:
    return FakeModel().turn(tool_calls=[("act", {})]).turn("Done.")


# --- the model ------------------------------------------------------------------------------------


class Odd(Exception):
    """It raises when it is looked at."""

    @property
    def code(self) -> str:
        raise RuntimeError("no code")

    status_code = code


class Wordy(Exception):
    code = "c" * 5_000_000


def capable(model: str) -> ModelCapabilities:
    del model
    return ModelCapabilities()


async def knows_none(context: ModelCallContext) -> Sequence[str]:
    del context
    return ()


class Lawless:
    """A model client that gives these events, then raises."""

    provider = "lawless"
    capabilities = staticmethod(capable)
    known_models = staticmethod(knows_none)

    def __init__(self, *events: Any, error: BaseException | None = None) -> None:
        self._events, self._error = events, error

    async def stream(self, request: object, context: object) -> AsyncGenerator[Any]:
        del request, context
        for event in self._events:
            yield event
        if self._error is not None:
            raise self._error


CLIENTS = {
    "SystemExit": Lawless(error=SystemExit(1)),
    "KeyboardInterrupt": Lawless(error=KeyboardInterrupt()),
    "CancelledError": Lawless(error=asyncio.CancelledError("by itself")),
    "GeneratorExit": Lawless(error=GeneratorExit()),
    "a group": Lawless(error=BaseExceptionGroup("both", [asyncio.CancelledError(), SystemExit()])),
    "an error that raises": Lawless(error=Odd()),
    "an error of many words": Lawless(error=Wordy()),
    "a hint that is none": Lawless(error=TransientError("later", "soon")),  # type: ignore[arg-type]  # the point
    "a hint without end": Lawless(error=TransientError("later", 10**400)),
    "no reason to finish": Lawless(TextDelta("a"), StreamDone(None)),  # type: ignore[arg-type]  # the point
    "usage that is none": Lawless(TextDelta("a"), StreamDone(STOP, usage="a lot")),  # type: ignore[arg-type]  # the point
    "an empty answer's": Lawless(StreamDone(STOP, usage="a lot")),  # type: ignore[arg-type]  # the point
    "an endless reason": Lawless(TextDelta("a"), StreamDone(STOP, raw_finish_reason="r" * 5_000_000)),
    "an endless id": Lawless(TextDelta("a"), StreamDone(STOP, response_id="\0" * 1_000_000)),
}


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS.keys())
async def test_whatever_a_model_client_raises_or_gives_is_a_failed_call(
    store: Store, client: Lawless
) -> None:
    async with at_work(store, client):
        state = await ended(store, await begun(store, ONCE))
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind in {"permanent", "transient"}
    assert state.meter.failed_model_calls == 1


class Deaf:
    """A model client that cannot be cancelled."""

    provider = "deaf"
    capabilities = staticmethod(capable)
    known_models = staticmethod(knows_none)

    async def stream(self, request: object, context: object) -> AsyncGenerator[Any]:
        del request, context
        yield TextDelta("a")
        for _ in range(100):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                continue


@in_virtual_time
async def test_a_model_client_that_swallows_its_cancellation_holds_no_worker() -> None:
    store = InMemoryStore(clock=VirtualClock())
    async with at_work(store, Deaf()):
        run_id = await begun(store, agent())
        await seen(store, run_id, lambda state: bool(state.lanes) and state.lanes[""].phase == "calling")
        await asyncio.sleep(1)
        began = store.clock.monotonic()
        await interrupt(store, run_id)
        assert (await ended(store, run_id)).terminal_state == "aborted"
    assert store.clock.monotonic() - began < 10


# --- the policy -----------------------------------------------------------------------------------


def giving(value: object) -> Callable[..., Any]:
    async def give(*asked: object) -> object:
        return value

    return give


def raising(error: BaseException) -> Callable[..., Any]:
    async def fail(*asked: object) -> object:
        raise error

    return fail


def nothing(*asked: object) -> Any:
    return Decision.allow()


def at_once(*asked: object) -> Any:
    raise ValueError("not even a coroutine")


ANSWERS = {
    "None": giving(None),
    "True": giving(True),
    "a text": giving("yes"),
    "nothing to await": nothing,
    "an error at once": at_once,
    "CancelledError": raising(asyncio.CancelledError("by itself")),
    "SystemExit": raising(SystemExit(1)),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("asked", ["allow_run", "allow_tool"])
async def test_a_policy_that_gives_no_decision_denies(
    store: Store, asked: str, answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, ledger = AllowAll(), EffectLedger()
    monkeypatch.setattr(policy, asked, answer)
    async with at_work(store, acting(), ledger.wrap(registered(act)), runtime={"policy": policy}):
        state = await ended(store, await begun(store, agent("act")), ledger)
    assert ledger.invocations == ()
    assert state.settled is not None
    if asked == "allow_tool":
        assert state.terminal_state == "completed"
    else:
        assert state.settled.failure is not None
        assert state.settled.failure.kind == "access_denied"


class Late(AllowAll):
    """It allows, but only after its time, and takes no word to stop."""

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: object) -> Decision:
        for _ in range(2):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                continue
        return Decision.allow()


@in_virtual_time
async def test_a_policy_that_allows_too_late_denies() -> None:
    store, ledger = InMemoryStore(clock=VirtualClock()), EffectLedger()
    async with at_work(store, acting(), ledger.wrap(registered(act)), runtime={"policy": Late()}):
        await ended(store, await begun(store, agent("act")), ledger)
    assert ledger.invocations == ()


# --- the store ------------------------------------------------------------------------------------


class NoKeys(PlainCodec):
    """A codec whose keys cannot be fetched for now."""

    away = True

    async def prepare(self, scope: Scope) -> None:
        if self.away:
            raise ConnectionError("the key service is away")


@in_virtual_time
async def test_a_run_that_cannot_be_read_nor_ended_is_left_and_no_worker_dies_of_it() -> None:
    codec = NoKeys()
    store = InMemoryStore(clock=VirtualClock(), codec=codec)
    codec.away = False
    run_id = await begun(store, agent())
    codec.away = True
    async with at_work(store, FakeModel().turn("Done.")):
        await asyncio.sleep(10)
        codec.away = False
        assert (await ended(store, run_id)).terminal_state == "completed"


class Strange(StoreProxy):
    """Its first claim and all renewals raise what no store should."""

    claimed = False

    async def claim(self, *args: Any, **options: Any) -> Claims:
        if not self.claimed:
            self.claimed = True
            raise OSError("a driver's own error")
        return await super().claim(*args, **options)

    async def renew(self, leases: Sequence[Lease], *, lease_seconds: float = 30.0) -> tuple[Renewed, ...]:
        raise RuntimeError("a driver's own error")


@in_virtual_time
async def test_claims_and_renewals_that_raise_anything_stop_no_worker() -> None:
    store = Strange(InMemoryStore(clock=VirtualClock()))
    async with at_work(store, FakeModel().turn("Done.")):
        assert (await ended(store, await begun(store, agent()))).terminal_state == "completed"
        await asyncio.sleep(60)


# --- claims ---------------------------------------------------------------------------------------


@in_virtual_time
async def test_a_worker_started_anew_under_its_old_id_takes_no_run_over_before_its_lease_ends() -> None:
    store, ledger = InMemoryStore(clock=VirtualClock()), EffectLedger()

    async def wait() -> str:
        """Take a while."""
        await asyncio.sleep(20)
        return "waited"

    model = FakeModel().turn(tool_calls=[("wait", {})]).turn("Done.")
    tools = ledger.wrap(registered(wait))
    run_id = await begun(store, agent("wait"))
    async with at_work(store, model, tools, worker_id="pod-0"):
        await seen(store, run_id, lambda state: any(call.phase == "started" for call in state.calls.values()))
        async with at_work(store, model, tools, worker_id="pod-0"):
            state = await ended(store, run_id, ledger)
    assert state.terminal_state == "completed"
    assert len(ledger.invocations) == 1
    assert (await types(store, run_id)).count("attempt_started") == 1


@in_virtual_time
async def test_a_worker_with_more_slots_than_a_claim_takes_waits_for_no_poll() -> None:
    store = InMemoryStore(clock=VirtualClock())
    run_ids = [await begun(store, agent()) for _ in range(320)]
    began = store.clock.monotonic()
    async with at_work(store, FakeModel().turn("Done.", times=320), concurrency=150, poll_interval=3_600):
        for run_id in run_ids:
            await seen(store, run_id, lambda state: state.settled is not None)
    assert store.clock.monotonic() - began < 10


@pytest.mark.parametrize("concurrency", [0, 1_001])
async def test_a_worker_has_no_more_slots_than_a_claim_can_leave_out(concurrency: int) -> None:
    with pytest.raises(ValueError, match="concurrency"):
        async with at_work(InMemoryStore(), FakeModel(), concurrency=concurrency):
            pass

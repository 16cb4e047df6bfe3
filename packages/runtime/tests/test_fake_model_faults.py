"""A scripted model breaks as a real one does."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import pytest

from packages.runtime.tests.model_calls import answer, context, events, request, text
from psych_runtime.failures.classify import classify
from psych_runtime.testing.clock import FakeClock
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.testing.virtual import VirtualClock, run_virtual
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ports.model import StreamEvent, TextDelta, ToolCallDelta


async def failing(model: FakeModel, idle: float = 300.0) -> tuple[list[StreamEvent], ModelError]:
    """What one call streamed before it failed, and its error."""
    streamed: list[StreamEvent] = []

    async def call() -> None:
        async with aclosing(model.stream(request(idle=idle), context())) as stream:
            async for event in stream:
                streamed.append(event)

    with pytest.raises(ModelError) as raised:
        await call()
    return streamed, raised.value


@pytest.mark.parametrize(
    ("model", "kind", "status", "code"),
    [
        pytest.param(FakeModel().raises_transient(), "transient", 503, None, id="transient"),
        pytest.param(FakeModel().raises_transient(429), "transient", 429, None, id="transient 429"),
        pytest.param(FakeModel().raises_permanent(), "permanent", 400, None, id="permanent"),
        pytest.param(FakeModel().raises_permanent(422), "permanent", 422, None, id="permanent 422"),
        pytest.param(
            FakeModel().overflows(), "context_overflow", 400, "context_length_exceeded", id="overflow"
        ),
        pytest.param(FakeModel().filters(), "content_filter", 400, "content_filter", id="filter"),
        pytest.param(FakeModel().rejects_auth(), "auth", 401, "invalid_api_key", id="auth"),
        pytest.param(FakeModel().aborts_mid_token(), "transient", None, "truncated", id="mid token"),
        pytest.param(FakeModel().aborts_mid_call("f", "{"), "transient", None, "truncated", id="mid call"),
        pytest.param(FakeModel().stalls(), "transient", None, "idle", id="stall"),
    ],
)
def test_a_fault_reaches_its_caller_as_one_kind(
    model: FakeModel, kind: str, status: int | None, code: str | None
) -> None:
    _, error = run_virtual(lambda: failing(model))
    assert (error.kind, error.status, error.code) == (kind, status, code)
    assert classify(error) == (kind, None)
    model.assert_exhausted()


async def test_a_failure_has_the_fields_it_is_given_and_comes_after_what_was_sent() -> None:
    model = FakeModel().fails(
        ModelErrorKind.TRANSIENT,
        status=429,
        code="slow_down",
        message="too fast",
        retry_after=7.5,
        after="so far",
    )
    streamed, error = await failing(model)
    assert streamed == [TextDelta("so "), TextDelta("far")]
    assert (str(error), error.status, error.code, error.retry_after_seconds) == (
        "too fast",
        429,
        "slow_down",
        7.5,
    )


async def test_a_stream_breaks_off_after_what_was_said() -> None:
    model = FakeModel().aborts_mid_token(["hel", "lo wo"])
    assert (await failing(model))[0] == [TextDelta("hel"), TextDelta("lo wo")]
    model = FakeModel().aborts_mid_call("pay", '{"amount":')
    assert (await failing(model))[0] == [ToolCallDelta(0, None, "pay", '{"amount":')]


async def test_a_repeated_failure_is_an_error_of_its_own() -> None:
    model = FakeModel().raises_transient().repeat()
    assert (await failing(model))[1] is not (await failing(model))[1]


@pytest.mark.parametrize(
    ("model", "idle", "takes"),
    [
        pytest.param(FakeModel().stalls(20.0), 30.0, 20.0, id="a stall within the timeout ends"),
        pytest.param(FakeModel().stalls(30.0), 30.0, 30.0, id="a stall of the timeout ends"),
        pytest.param(FakeModel().stalls(1e6), 0.0, 1e6, id="without a timeout any stall ends"),
        pytest.param(FakeModel().turn(delay=2.5), 30.0, 2.5, id="a delayed answer comes late"),
    ],
)
def test_a_silence_takes_its_time(model: FakeModel, idle: float, takes: float) -> None:
    async def main() -> float:
        assert (await answer(model, what=request(idle=idle))).message.parts == ()
        return VirtualClock().monotonic()

    assert run_virtual(main) == takes


@pytest.mark.parametrize(
    "model", [FakeModel().stalls(), FakeModel().stalls(31.0), FakeModel().turn("late", delay=31.0)]
)
def test_a_silence_past_the_idle_timeout_fails_when_the_timeout_ends(model: FakeModel) -> None:
    async def main() -> tuple[str | None, float]:
        _, error = await failing(model, idle=30.0)
        return error.code, VirtualClock().monotonic()

    assert run_virtual(main) == ("idle", 30.0)


def test_a_stall_without_a_timeout_is_for_ever() -> None:
    async def main() -> bool:
        with anyio.move_on_after(1e9) as scope:
            await events(FakeModel().stalls(), what=request(idle=0.0))
        return scope.cancelled_caught

    assert run_virtual(main)


async def test_a_silence_is_slept_on_the_clock_given() -> None:
    clock = FakeClock()
    model = FakeModel(clock=clock).turn("at last", delay=60.0)
    said: list[str] = []

    async def call() -> None:
        said.append(await text(model))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await clock.advance(59.0)
        assert (said, clock.sleepers) == ([], 1)
        await clock.advance(1.0)
        assert said == ["at last"]


def test_a_cancelled_call_ends_at_once_and_its_entry_stays_its_own() -> None:
    async def main() -> str:
        model = FakeModel().turn("slow", delay=100.0).turn("next")
        with anyio.move_on_after(1.0):
            await events(model, context(turn=1))
        return await text(model, context(turn=1)) + await text(model, context(turn=2))

    assert run_virtual(main) == "slownext"


def test_one_model_serves_one_loop_after_another() -> None:
    model = FakeModel().turn("a").turn("b")
    assert run_virtual(lambda: text(model, context(turn=1))) == "a"
    assert run_virtual(lambda: text(model, context(turn=2))) == "b"

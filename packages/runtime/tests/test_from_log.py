"""A log plays its model again: each call gets the parts, the figures or the error that it got."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests import samples
from packages.core.tests.plans import plan
from packages.core.tests.pump import Pump
from packages.core.tests.stories import PRICE, USAGE, Story, begun, erased, rich
from packages.core.tests.tape import Tape
from packages.core.tests.world import World
from packages.runtime.tests.model_calls import events, request, text
from psych_runtime.failures.classify import classify
from psych_runtime.model.assemble import Answer, Assembly
from psych_runtime.testing.assemble import NOBODY, assemble
from psych_runtime.testing.fake_model import FakeModel, LogMismatch
from psych_runtime.testing.logged_calls import said
from psych_runtime.testing.virtual import VirtualClock, run_virtual
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelError
from psych_runtime_core.ids import RunId
from psych_runtime_core.messages import (
    AssistantMessage,
    FinishReason,
    ImagePart,
    Media,
    ModelSource,
    TextPart,
    ToolClass,
    ToolDefinition,
    UserMessage,
)
from psych_runtime_core.ports.model import (
    MediaDelta,
    ModelCallContext,
    ModelCapabilities,
    ModelRequest,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import AskedMode, ModelTimings, OfferedTool, Sent, ToolFailure
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from psych_runtime_core.scope import Scope


def history(seed: int) -> list[Record]:
    """A Run of chance, with Workers that die."""
    tape = Tape(bytes((seed * 41 + n * n * 13 + n) & 255 for n in range(600)))
    pump = Pump(World(tape, plan("b")))
    pump.run()
    return pump.log


def every_field() -> Record:
    """The fullest answer; how closely to look at a picture is said to a model and never by one."""
    message = samples.MESSAGE
    parts = [
        part.model_copy(update={"detail": "auto"}) if isinstance(part, ImagePart) else part
        for part in message.parts
    ]
    update = {"message": message.model_copy(update={"parts": tuple(parts)})}
    return samples.FULL["model_call_finished"].model_copy(update=update)


LOGS: dict[str, Callable[[], Sequence[Record]]] = {
    "a bit of everything": lambda: rich().records,
    "every field of an answer": lambda: [every_field()],
    "as few as it takes": lambda: [samples.BARE["model_call_finished"]],
    "a failure that says little": lambda: [samples.BARE["model_call_failed"]],
    **{f"history {seed}": partial(history, seed) for seed in range(25)},
}


def calls_of(log: Sequence[Record]) -> Iterator[tuple[ModelCallFinished | ModelCallFailed, int]]:
    """Each call that ended, and how many had failed before it in its turn."""
    failures: dict[tuple[str, int], int] = {}
    for record in log:
        if isinstance(record, ModelCallFinished | ModelCallFailed):
            before = failures.setdefault((record.lane, record.turn), 0)
            failures[record.lane, record.turn] += isinstance(record, ModelCallFailed)
            yield record, before


def where(record: Record, turn: int, failures: int = 0, run: str = "run_other") -> ModelCallContext:
    return ModelCallContext(Scope(tenant="acme"), RunId(run), record.lane, "clerk", turn, failures)


def asked(model: str, *tools: str) -> ModelRequest:
    defined = tuple(ToolDefinition(name=name, description="", parameters={}) for name in tools)
    return ModelRequest(model, (UserMessage(content="hello"),), tools=defined)


async def replayed(
    model: FakeModel, record: ModelCallFinished | ModelCallFailed, failures: int
) -> ModelCallFinished | ModelCallFailed:
    """`record` as the call in its place writes it: nothing that its stream says is taken from the log."""
    message = record.message if isinstance(record, ModelCallFinished) else AssistantMessage(source=NOBODY)
    source = ModelSource(provider=model.provider, model=message.source.model)
    assembly = Assembly(source, lambda ordinal: message.tool_calls[ordinal].id)
    try:
        for event in await events(model, where(record, record.turn, failures), asked(record.model)):
            assembly.feed(event)
    except (ModelError, AccessDenied, CredentialNotFound) as error:
        figures = {name: getattr(error, name, None) for name in ("usage", "cost")}
        begun = isinstance(error, ModelError) and error.begun
        return record.model_copy(update={"failure": failed(error), "begun": begun, **figures})
    return record.model_copy(update=told(assembly.finish(), record))


def told(answer: Answer, record: ModelCallFinished | ModelCallFailed) -> dict[str, Any]:
    done = answer.done
    if isinstance(record, ModelCallFailed):
        failure = record.failure if answer.message.parts == () else None
        return {"usage": done.usage, "cost": done.cost, "failure": failure}
    return {
        "message": answer.message,
        "finish_reason": done.finish_reason,
        "raw_finish_reason": done.raw_finish_reason,
        "usage": done.usage,
        "cost": done.cost,
        "served_model": done.served_model,
        "response_id": done.response_id,
        "service_tier": done.service_tier,
    }


def failed(error: Exception) -> ToolFailure:
    kind, retry_after = classify(error)
    code = error.code if isinstance(error, ModelError) else None
    transient = kind == "transient"
    return ToolFailure(
        kind=kind, message=str(error), transient=transient, code=code, retry_after_seconds=retry_after
    )


@pytest.mark.parametrize("name", LOGS)
async def test_every_call_of_a_log_gets_what_it_got(name: str) -> None:
    log = LOGS[name]()
    model = FakeModel.from_log(log, strict=False)
    for record, failures in calls_of(log):
        assert await replayed(model, record, failures) == record
    model.assert_exhausted()
    assert set(await model.known_models(where(log[0], 1))) >= {each.model for each, _ in calls_of(log)}


def test_the_logs_hold_calls_of_each_kind() -> None:
    seen = [record for make in LOGS.values() for record, _ in calls_of(make())]
    assert sum(isinstance(record, ModelCallFailed) for record in seen) >= 10
    assert sum(isinstance(record, ModelCallFinished) and bool(record.calls) for record in seen) > 10


opaque = st.none() | st.dictionaries(st.text(), st.integers() | st.text())
media = st.sampled_from(
    [Media(media_type="image/png", data=b"png"), Media(media_type="text/plain", url="https://host/a")]
)
deltas: st.SearchStrategy[StreamEvent] = st.one_of(
    st.builds(TextDelta, st.text(), opaque),
    st.builds(ReasoningDelta, st.text(), opaque),
    st.builds(RefusalDelta, st.text()),
    st.builds(MediaDelta, media, st.none() | st.text(min_size=1, max_size=9)),
    st.builds(OpaqueDelta, st.text(), opaque),
)
END = StreamDone(FinishReason.STOP)


@given(st.lists(deltas), st.lists(st.tuples(st.text(min_size=1), st.text(), opaque), max_size=3))
def test_whatever_was_said_can_be_said_again(streamed: list[StreamEvent], calls: list[Any]) -> None:
    called = [
        ToolCallDelta(index, f"p{index}", name, arguments, mark)
        for index, (name, arguments, mark) in enumerate(calls)
    ]
    message = assemble([*streamed, *called, *streamed, END])
    assert assemble([*said(message), END]) == message


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ({"kind": "auth", "message": "no", "code": "invalid_api_key"}, "auth"),
        ({"kind": "context_overflow", "message": "too long"}, "context_overflow"),
        (
            {"kind": "transient", "message": "slow down", "transient": True, "retry_after_seconds": 7.5},
            "transient",
        ),
        ({"kind": "access_denied", "message": "access to acme is denied: no"}, "access_denied"),
        ({"kind": "tool_resolution", "message": "gone"}, "permanent"),
        ({"kind": "timeout", "message": "late", "transient": True}, "transient"),
    ],
    ids=["auth", "overflow", "transient", "denied", "a kind of the engine's", "one that may pass"],
)
async def test_a_failed_call_fails_again_in_its_words(failure: dict[str, Any], kind: str) -> None:
    log = begun().asks().model_failed(failure=ToolFailure(**failure), next="stop").records
    with pytest.raises(Exception) as raised:
        await text(FakeModel.from_log(log), where(log[-1], 1), asked("test-model"))
    assert str(raised.value) == failure["message"]
    assert classify(raised.value) == (kind, failure.get("retry_after_seconds"))
    assert getattr(raised.value, "code", None) == failure.get("code")


async def test_a_credential_that_was_missing_is_missing_again() -> None:
    failure = ToolFailure(kind="credential_not_found", message="credential 'key' is not set")
    log = begun().asks().model_failed(failure=failure, next="stop").records
    with pytest.raises(CredentialNotFound, match=r"^credential 'key' is not set$"):
        await text(FakeModel.from_log(log), where(log[-1], 1), asked("test-model"))


async def test_an_answer_that_said_nothing_says_nothing_again_at_its_price() -> None:
    failure = ToolFailure(kind="empty_response", message="nothing", transient=True)
    log = begun().asks().model_failed(failure=failure, usage=USAGE, cost=PRICE).records
    streamed = await events(FakeModel.from_log(log), where(log[-1], 1), asked(MODEL))
    assert streamed == [StreamDone(FinishReason.STOP, usage=USAGE, cost=PRICE)]


async def test_a_call_that_may_not_have_reached_a_model_need_not_be_made() -> None:
    failure = ToolFailure(kind="tool_resolution", message="a policy failed")
    log = begun().asks().model_failed(failure=failure, next="stop").records
    FakeModel.from_log(log).assert_exhausted()
    with pytest.raises(ModelError, match="a policy failed"):
        await text(FakeModel.from_log(log), where(log[-1], 1), asked(MODEL))


# --- what differs ---

MODEL = "test-model"


OFFERED = (OfferedTool(name="pay", tool_class=ToolClass.WRITE, digest="2" * 64),)


def two_turns() -> Story:
    """The tools of the second turn are those of the first, which the log says once."""
    return begun().asks().says("", ("pay", {"n": 1})).runs().asks().says("Done.")


@pytest.mark.parametrize(
    ("request_", "what", "recorded", "given_"),
    [
        pytest.param(asked("gpt-9", "other"), "the model", MODEL, "gpt-9", id="the model, first of all"),
        pytest.param(asked(MODEL), "tool 1", "pay", None, id="a tool that is not offered"),
        pytest.param(asked(MODEL, "send"), "tool 1", "pay", "send", id="another tool"),
        pytest.param(asked(MODEL, "pay", "send"), "tool 2", None, "send", id="one tool more"),
    ],
)
async def test_the_first_difference_is_named(
    request_: ModelRequest, what: str, recorded: str | None, given_: str | None
) -> None:
    log = two_turns().records
    model = FakeModel.from_log(log)
    with pytest.raises(LogMismatch, match="lane '', turn 2, after 0 failed calls") as raised:
        await text(model, where(log[0], 2), request_)
    seen = raised.value
    assert (seen.what, seen.recorded, seen.asked) == (what, recorded, given_)
    assert what in str(seen)
    assert await text(FakeModel.from_log(log, strict=False), where(log[0], 2), request_) == "Done."


async def test_a_call_that_the_log_has_not_is_named_and_so_are_calls_that_nobody_made() -> None:
    log = two_turns().records
    model = FakeModel.from_log(log)
    await text(model, where(log[0], 1), asked(MODEL, "pay"))
    for strange in (where(log[0], 3), where(log[0], 2, failures=1)):
        with pytest.raises(LogMismatch, match=r"the model is 'test-model', in the log nothing"):
            await text(model, strange, asked(MODEL, "pay"))
    with pytest.raises(AssertionError) as raised:
        model.assert_exhausted()
    faults = str(raised.value).splitlines()
    assert [fault.partition(":")[0] for fault in faults] == ["the log of run_1"] * 3
    assert "turn 3, after 0" in faults[0]
    assert "turn 2, after 1" in faults[1]
    assert faults[2] == "the log of run_1: not played: lane '', turn 2, after 0 failed calls"


async def test_a_call_repeated_after_a_crash_is_answered_alike() -> None:
    log = two_turns().records
    model = FakeModel.from_log(log)
    said_twice = [await text(model, where(log[0], 2), asked(MODEL, "pay")) for _worker in range(2)]
    assert said_twice == ["Done.", "Done."]


async def test_children_play_their_own_logs() -> None:
    log, child = two_turns().records, begun().asks().says("I am the child.").records
    model = FakeModel.from_log(log, children={"run_child": child})
    assert await text(model, where(log[0], 1, run="run_child"), asked(MODEL, "pay")) == "I am the child."
    assert await text(model, where(log[0], 2), asked(MODEL, "pay")) == "Done."
    with pytest.raises(AssertionError, match=r"^the log of run_1: not played: lane '', turn 1, after 0"):
        model.assert_exhausted()


def test_a_call_that_the_end_of_its_run_cut_off_is_silent() -> None:
    log = begun().asks().abort().settled().records
    model = FakeModel.from_log(log)

    async def call() -> None:
        await text(model, where(log[0], 1), request(MODEL, idle=30.0))

    with pytest.raises(ModelError, match="silent for 30 seconds"):
        run_virtual(call)
    FakeModel.from_log(log).assert_exhausted()


async def test_a_call_that_a_log_ends_in_is_not_in_it() -> None:
    log = begun().asks().records
    with pytest.raises(LogMismatch, match="in the log nothing"):
        await text(FakeModel.from_log(log), where(log[0], 1), asked(MODEL))


async def test_other_calls_can_be_scripted_beside_a_log() -> None:
    log = two_turns().records
    model = FakeModel.from_log(log)
    model.when(model="other").turn("scripted")
    assert await text(model, where(log[0], 1), asked("other")) == "scripted"
    with pytest.raises(ValueError, match=r"plays a log; .* with when\(\)"):
        model.turn("lost")
    assert model.provider == "test"


async def test_a_log_of_several_providers_is_answered_by_each_of_them() -> None:
    log = begun().asks().model_failed(next_model="b").model_started()
    source = ModelSource(provider="other", model="b")
    log.model_finished("Hi.", message=AssistantMessage(parts=(TextPart(text="Hi."),), source=source))
    log.asks().says("Ho.")
    model = FakeModel.from_log(log.records)
    assert [model.provider_of(name) for name in ("b", MODEL, "c")] == ["other", "test", "other"]
    assert FakeModel.from_log(begun().records).provider == FakeModel().provider_of("any") == "fake"


@pytest.mark.parametrize(
    ("mode", "tools", "able"),
    [
        ("tool", (), ModelCapabilities()),
        ("prompted", (), ModelCapabilities(tools=False)),
        ("prompted", OFFERED, ModelCapabilities()),
        ("native", (), FakeModel().capabilities(MODEL)),
        (None, (), FakeModel().capabilities(MODEL)),
    ],
    ids=["by a call", "in the prompt", "in the prompt, with tools", "natively", "as text"],
)
def test_a_model_can_do_what_makes_it_be_asked_as_the_log_says(
    mode: AskedMode | None, tools: tuple[OfferedTool, ...], able: ModelCapabilities
) -> None:
    sent = Sent(prompt_hash="0" * 64, tools_hash="1" * 64, tools=tools, output_mode=mode)
    log = begun().asks().model_finished("Hi.", sent=sent).records
    assert FakeModel.from_log(log).capabilities(MODEL) == able
    assert FakeModel.from_log(log).capabilities("other") == FakeModel().capabilities("other")


@pytest.mark.parametrize(("clock", "seconds"), [(VirtualClock(), [5.0, 405.0]), (None, [0.0, 0.0])])
def test_on_a_clock_each_call_takes_the_time_that_it_took(clock: Clock | None, seconds: list[float]) -> None:
    """It is no stall, however long it takes."""
    slow = ModelTimings(time_to_first_token_seconds=2.0, stream_duration_seconds=400.0)
    log = begun().asks().model_failed(timings=ModelTimings(stream_duration_seconds=5.0)).model_started()
    records = log.says("Hi.", timings=slow).records

    async def main() -> list[float]:
        model, ends = FakeModel.from_log(records, strict=False, clock=clock), list[float]()
        for failures in range(2):
            with suppress(ModelError):
                await text(model, where(records[0], 1, failures), request(MODEL, idle=30.0))
            ends.append(VirtualClock().monotonic())
        return ends

    assert run_virtual(main) == seconds


def test_an_erased_call_cannot_be_played() -> None:
    with pytest.raises(ValueError, match="record 5 of run_1 is erased"):
        FakeModel.from_log(erased(two_turns()))


async def test_a_log_without_a_call_has_none() -> None:
    FakeModel.from_log(begun().records).assert_exhausted()


@pytest.mark.parametrize(
    ("log", "error", "says"),
    [
        pytest.param("run_x", TypeError, "is a str; give the records of a Run", id="an id"),
        pytest.param({"run_x": []}, TypeError, "is a dict; give the records", id="several logs"),
        pytest.param([b"{}"], TypeError, "holds a bytes; give the records", id="what is stored"),
        pytest.param([], ValueError, "is empty; give the records", id="nothing"),
    ],
)
def test_what_is_no_log_is_refused_with_a_cure(log: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=f"records {says}"):
        FakeModel.from_log(log)
    with pytest.raises(error, match=f"run_child {says}"):
        FakeModel.from_log(begun().records, children={"run_child": log})

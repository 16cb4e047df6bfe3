"""What a scripted model says, to whom, and what it remembers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.model_calls import answer, context, events, request, text
from psych_runtime.testing.fake_model import (
    FakeModel,
    FakeModelScriptExhausted,
    FakeTurn,
    ToolCallScript,
)
from psych_runtime.testing.virtual import run_virtual
from psych_runtime_core.messages import FinishReason, Media
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
from psych_runtime_core.usage import Cost, Usage

USAGE = Usage(input=10, output=5)
any_text = st.text(st.characters(codec=None))


@given(st.text())
def test_a_text_comes_back_exactly(said: str) -> None:
    assert run_virtual(lambda: text(FakeModel().turn(said))) == said


@given(st.lists(st.text()))
def test_chunks_are_sent_as_they_are_and_join_to_themselves(chunks: list[str]) -> None:
    streamed = run_virtual(lambda: events(FakeModel().turn(chunks)))
    assert [event.text for event in streamed if isinstance(event, TextDelta)] == [c for c in chunks if c]


def test_a_text_is_cut_at_words() -> None:
    streamed = run_virtual(lambda: events(FakeModel().turn(" one  two\n")))
    assert streamed[:-1] == [TextDelta(" "), TextDelta("one  "), TextDelta("two\n")]


calls = st.builds(
    ToolCallScript,
    st.text(min_size=1),
    raw_arguments=any_text,
    call_id=st.none() | st.just("provider-1"),
    opaque=st.none() | st.just({"sig": 1}),
)
PICTURE = Media(media_type="image/png", data=b"png")
turns = st.builds(
    FakeTurn,
    any_text | st.lists(any_text),
    tool_calls=st.lists(calls | st.tuples(st.just("f"), st.dictionaries(st.text(), st.text())), max_size=3),
    reasoning=st.none() | any_text | st.lists(any_text),
    refusal=st.none() | any_text,
    opaque=st.none() | st.just("sig"),
    media=st.lists(st.just(PICTURE), max_size=2),
    usage=st.none() | st.just(USAGE),
)


@given(turns)
def test_every_script_keeps_the_laws_of_a_stream(turn: FakeTurn) -> None:
    streamed = run_virtual(lambda: events(FakeModel().turn(lambda _request, _context: turn)))
    assert [isinstance(event, StreamDone) for event in streamed] == [False] * (len(streamed) - 1) + [True]
    begun: list[int] = []
    for event in streamed[:-1]:
        if isinstance(event, ToolCallDelta):
            first = event.index not in begun
            assert bool(event.name) is first
            assert first or event.arguments_fragment
            begun += [event.index] if first else []
        assert all(is_sendable(piece) for piece in pieces(event))
    assert begun == list(range(len(turn.tool_calls)))


def pieces(event: StreamEvent) -> list[str]:
    if isinstance(event, TextDelta | ReasoningDelta | RefusalDelta):
        return [event.text]
    return [event.arguments_fragment or "a call's name"] if isinstance(event, ToolCallDelta) else []


def is_sendable(piece: str) -> bool:
    return piece != "" and not any("\ud800" <= c <= "\udfff" for c in piece)


def test_a_character_split_over_two_chunks_arrives_as_one() -> None:
    streamed = run_virtual(lambda: events(FakeModel().turn(["a\ud83d", "\ude00b", "\ud83d"])))
    assert streamed[:-1] == [TextDelta("a"), TextDelta("😀b"), TextDelta("\ufffd")]


async def test_everything_of_a_turn_is_sent_in_order() -> None:
    cost = Cost(amount=Decimal("0.01"))
    call = ToolCallScript("pay", raw_arguments='{"n":', call_id="p1", fragments=["{", '"n":'], opaque=7)
    model = FakeModel().turn(
        "so",
        reasoning="h m",
        refusal="no",
        opaque={"sig": 1},
        media=[PICTURE, MediaDelta(PICTURE, "cat")],
        tool_calls=[call, ("get", {"q": "ä"})],
        usage=None,
        cost=cost,
    )
    assert await events(model) == [
        ReasoningDelta("h "),
        ReasoningDelta("m", {"sig": 1}),
        TextDelta("so"),
        RefusalDelta("no"),
        MediaDelta(PICTURE),
        MediaDelta(PICTURE, "cat"),
        ToolCallDelta(0, "p1", "pay", "{", 7),
        ToolCallDelta(0, arguments_fragment='"n":'),
        ToolCallDelta(1, None, "get", '{"q": '),
        ToolCallDelta(1, arguments_fragment='"ä"}'),
        StreamDone(FinishReason.TOOL_CALLS, usage=None, cost=cost),
    ]


@pytest.mark.parametrize(
    ("turn", "marked"),
    [
        (FakeTurn("a b", opaque=1), [TextDelta("a "), TextDelta("b", 1)]),
        (FakeTurn("a", reasoning="hm", opaque=1), [ReasoningDelta("hm", 1), TextDelta("a")]),
        (FakeTurn(refusal="no", opaque=1), [OpaqueDelta("fake", 1), RefusalDelta("no")]),
    ],
    ids=["on the text", "on the reasoning", "alone"],
)
async def test_a_mark_stands_on_what_was_thought_or_said(turn: FakeTurn, marked: list[StreamEvent]) -> None:
    streamed = await events(FakeModel().turn(lambda _request, _context: turn))
    assert streamed[:-1] == marked


async def test_a_model_is_what_it_is_made_as() -> None:
    model = FakeModel(known_models=["a"], capabilities=ModelCapabilities(tools=False))
    assert await model.known_models(context()) == ("a",)
    assert not model.capabilities("a").tools
    assert await FakeModel().known_models(context()) == ("fake-standard", "fake-reasoning")
    capable = FakeModel().capabilities("any")
    assert (capable.structured_output, capable.structured_with_tools) == ("schema", True)


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (FakeTurn(), "stop"),
        (FakeTurn("hello"), "stop"),
        (FakeTurn("hello", refusal="no"), "stop"),
        (FakeTurn(refusal="no"), "refusal"),
        (FakeTurn(["", ""], refusal="no"), "refusal"),
        (FakeTurn("hello", tool_calls=[("f", {})]), "tool_calls"),
        (FakeTurn("hello", finish_reason=FinishReason.LENGTH), "length"),
    ],
)
async def test_the_content_implies_the_end(turn: FakeTurn, reason: str) -> None:
    model = FakeModel().turn(lambda _request, _context: turn)
    assert (await answer(model)).done == StreamDone(FinishReason(reason), usage=USAGE)


# --- functions ---


async def test_a_function_answers_what_it_is_asked() -> None:
    def echo(asked: ModelRequest, where: ModelCallContext) -> str:
        return f"{asked.model} in turn {where.turn}"

    async def slow(_request: ModelRequest, where: ModelCallContext) -> FakeTurn:
        return FakeTurn("no", finish_reason=FinishReason.LENGTH)

    model = FakeModel().turn(echo, times=2).turn(slow)
    assert await text(model, context(turn=1)) == "fake-standard in turn 1"
    assert await text(model, context(turn=2), request("other")) == "other in turn 2"
    assert (await answer(model, context(turn=3))).done.finish_reason == "length"


async def test_what_a_function_raises_leaves_the_stream() -> None:
    def broken(_request: ModelRequest, _context: ModelCallContext) -> str:
        raise KeyError("choices")

    with pytest.raises(KeyError, match="choices"):
        await events(FakeModel().turn(broken))


# --- who plays what ---


async def test_scripts_are_chosen_by_what_a_call_is() -> None:
    model = FakeModel().turn("default").repeat()
    model.agent("writer").turn("writer").repeat()
    model.when(model="big").turn("big").repeat()
    model.when(agent="writer", lane="step").turn("writer in step").repeat()
    model.when(tenant="rich").turn("rich").repeat()
    small, big = request("small"), request("big")

    assert await text(model, context(turn=1), small) == "default"
    assert await text(model, context(turn=2, agent="writer"), small) == "writer"
    assert await text(model, context(turn=3, agent="writer", lane="step"), small) == "writer in step"
    assert await text(model, context(turn=4), big) == "big"
    # As many fields: the first made wins.
    assert await text(model, context(turn=5, agent="writer"), big) == "writer"
    assert await text(model, context(turn=6, tenant="rich"), big) == "big"
    assert await text(model, context(turn=7, tenant="rich"), small) == "rich"
    assert await text(model, context(turn=8, lane="step"), small) == "default"


def test_the_same_route_is_the_same_script() -> None:
    model = FakeModel()
    assert model.when(agent="a") is model.agent("a")
    assert model.when(agent="a", lane="") is not model.agent("a")
    with pytest.raises(ValueError, match="needs a field"):
        model.when()


async def test_one_script_is_played_across_runs_in_order_of_arrival() -> None:
    model = FakeModel().turn("first").turn("second")
    assert await text(model, context("run_b")) == "first"
    assert await text(model, context("run_a")) == "second"


async def test_per_lane_each_lane_of_each_run_plays_the_script_from_its_start() -> None:
    model = FakeModel(play="per_lane").turn("first").turn("second")
    for run, lane in (("run_a", ""), ("run_b", ""), ("run_a", "step")):
        assert await text(model, context(run, lane=lane, turn=1)) == "first"
        assert await text(model, context(run, lane=lane, turn=2)) == "second"
    model.assert_exhausted()


async def test_a_call_repeated_after_a_crash_gets_the_entry_it_got_before() -> None:
    model = FakeModel().turn("first").raises_transient().turn("second")
    model.agent("other").turn("other")
    for _worker in range(2):
        assert await text(model, context(turn=1)) == "first"
        with pytest.raises(Exception, match="transient"):
            await events(model, context(turn=2))
        assert await text(model, context(turn=2, failures=1)) == "second"
        assert await text(model, context(agent="other", lane="step")) == "other"
    model.assert_exhausted()
    assert len(model.calls) == 8


def test_fifty_lanes_at_once_stay_apart() -> None:
    def name(_request: ModelRequest, where: ModelCallContext) -> FakeTurn:
        return FakeTurn(f"{where.lane} turn {where.turn}", delay=where.turn / 10)

    model = FakeModel(play="per_lane").turn(name, times=4)
    said: list[tuple[str, int, str]] = []

    async def lane(number: int) -> None:
        for turn in range(1, 5):
            where = context(lane=f"lane {number}", turn=turn)
            said.append((where.lane, turn, await text(model, where)))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(lane, number)

    run_virtual(main)
    assert len(said) == 200
    assert all(heard == f"{lane} turn {turn}" for lane, turn, heard in said)
    model.assert_exhausted()


# --- what was asked, and what was not ---


async def test_calls_are_remembered_whole_and_per_script() -> None:
    model = FakeModel().turn("a").turn("b")
    other = model.agent("other").turn("c")
    with pytest.raises(LookupError, match="default script: this model was not called"):
        _ = model.last_request
    await events(model, context(turn=1), request("small"))
    await events(model, context(agent="other"), request("big"))
    assert [asked.model for asked in model.requests] == ["small", "big"]
    assert [call.context.agent for call in model.calls] == ["helper", "other"]
    assert (model.last_request, other.requests) == (request("big"), (request("big"),))


async def test_a_call_past_the_end_is_refused_and_remembered() -> None:
    model = FakeModel().turn("only")
    await events(model, context(turn=1))
    for number, turn in ((2, 2), (3, 3)):
        with pytest.raises(FakeModelScriptExhausted, match=r"repeat\(\)") as raised:
            await events(model, context(turn=turn))
        assert raised.value.scripted == 1
        assert raised.value.call_number == number
        assert raised.value.route == "the default script"
    with pytest.raises(AssertionError, match="default script: calls past the end: 2"):
        model.assert_exhausted()


async def test_an_entry_added_later_is_played_by_the_next_call() -> None:
    model = FakeModel().turn("first")
    await events(model, context(turn=1))
    with pytest.raises(FakeModelScriptExhausted):
        await events(model, context(turn=2))
    model.turn("second")
    assert await text(model, context(turn=2)) == "second"


async def test_entries_nobody_played_are_named_by_their_script() -> None:
    model = FakeModel(play="per_lane").turn("hello", times=2).stalls()
    model.when(agent="other", tenant="acme").overflows()
    await events(model, context("run_a", lane="step"))
    with pytest.raises(AssertionError) as raised:
        model.assert_exhausted()
    assert str(raised.value).splitlines() == [
        "the default script, lane 'step' of run_a: not played: #2 turn('hello'), #3 stalls",
        "the script of agent='other', tenant='acme': not played: #1 fails(context_overflow)",
    ]


async def test_the_last_entry_repeats_for_ever() -> None:
    model = FakeModel().turn("first").turn("again").repeat()
    said = [await text(model, context(turn=turn)) for turn in range(1, 6)]
    assert said == ["first", "again", "again", "again", "again"]
    model.assert_exhausted()


# What the types refuse is refused at run time as well.
untyped: Any = FakeModel


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(lambda: untyped(play="twice"), "once", id="play"),
        pytest.param(lambda: FakeModel().repeat(), "nothing to repeat", id="repeat of nothing"),
        pytest.param(lambda: FakeModel().turn().repeat().turn(), "before it", id="an entry after repeat"),
        pytest.param(lambda: FakeModel().turn(times=0), "once or more", id="times"),
        pytest.param(lambda: FakeModel().turn(delay=-1.0), "0 or more", id="delay"),
        pytest.param(
            lambda: untyped().turn(request, delay=1.0), "FakeTurn with delay", id="a function's delay"
        ),
        pytest.param(lambda: FakeModel().fails("sad"), "sad", id="kind"),
        pytest.param(lambda: FakeModel().turn(tool_calls=[("", {})]), "name of a tool", id="nameless"),
        pytest.param(lambda: ToolCallScript("f"), "one of them", id="no arguments"),
        pytest.param(lambda: ToolCallScript("f", {}, raw_arguments=""), "one of them", id="both arguments"),
        pytest.param(lambda: ToolCallScript("f", {}, fragments=["{"]), "must join to '{}'", id="fragments"),
        pytest.param(lambda: ToolCallScript("f", {"n": math.nan}), "JSON", id="no JSON"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_where_it_is_written(
    make: Callable[[], object], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make()

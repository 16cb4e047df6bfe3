"""Streams become messages, and a stream that breaks a law becomes a typed error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.model_calls import SOURCE, assembled
from psych_runtime.model.assemble import MAX_ANSWER_BYTES, MAX_CALLS
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ids import RunId, derive_call_id
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
)
from psych_runtime_core.ports.model import (
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)

END = StreamDone(FinishReason.STOP)


def called(ordinal: int, name: str, arguments: str = "", provider_id: str | None = None) -> ToolCall:
    call_id = derive_call_id(RunId("run_1"), "", 1, ordinal)
    return ToolCall(id=call_id, name=name, arguments=arguments, provider_id=provider_id)


@pytest.mark.parametrize(
    ("stream", "parts"),
    [
        pytest.param([], (), id="nothing but an end"),
        pytest.param([TextDelta("a "), TextDelta("b")], (TextPart(text="a b"),), id="equal kinds join"),
        pytest.param(
            [ReasoningDelta("hm"), TextDelta("a"), ReasoningDelta("so"), RefusalDelta("no")],
            (ReasoningPart(text="hm"), TextPart(text="a"), ReasoningPart(text="so"), RefusalPart(text="no")),
            id="other kinds stand in their order",
        ),
        pytest.param(
            [
                TextDelta("a"),
                ToolCallDelta(0, "p0", "search"),
                TextDelta("b"),
                ToolCallDelta(0, arguments_fragment='{"q"'),
                ToolCallDelta(1, None, "stop", "{"),
                ToolCallDelta(0, arguments_fragment=":1}"),
                TextDelta("c"),
                ToolCallDelta(1, arguments_fragment="}"),
            ],
            (
                TextPart(text="a"),
                called(0, "search", '{"q":1}', "p0"),
                TextPart(text="b"),
                called(1, "stop", "{}"),
                TextPart(text="c"),
            ),
            id="a call stands where it began, its fragments may come between others",
        ),
        pytest.param([TextDelta("\ud83d"), TextDelta("\ude00")], (TextPart(text="😀"),), id="halves join"),
    ],
)
def test_parts_are_what_was_streamed(stream: list[StreamEvent], parts: tuple[AssistantPart, ...]) -> None:
    made = assembled([*stream, END])
    assert made.message == AssistantMessage(parts=parts, source=SOURCE)
    assert made.done is END


@given(st.lists(st.text(min_size=1)))
def test_any_chunking_of_a_text_joins_to_itself(chunks: list[str]) -> None:
    message = assembled([*map(TextDelta, chunks), END]).message
    assert message.text == "".join(chunks)
    assert len(message.parts) == bool(chunks)


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        pytest.param([], "truncated", id="no event at all"),
        pytest.param([TextDelta("half a sen")], "truncated", id="no end"),
        pytest.param([ToolCallDelta(0), END], "nameless_call", id="a call without a name"),
        pytest.param([ToolCallDelta(0, name=""), END], "nameless_call", id="a call with an empty name"),
        pytest.param([ToolCallDelta(1, name="x"), END], "malformed_event", id="a call before its turn"),
        pytest.param([ToolCallDelta(-1, name="x"), END], "malformed_event", id="a call of no number"),
        pytest.param([END, TextDelta("x")], "malformed_event", id="text after the end"),
        pytest.param([END, END], "malformed_event", id="two ends"),
    ],
)
def test_a_broken_stream_can_be_tried_again(stream: list[StreamEvent], code: str) -> None:
    with pytest.raises(ModelError) as raised:
        assembled(stream)
    assert (raised.value.kind, raised.value.code) == (ModelErrorKind.TRANSIENT, code)


@pytest.mark.parametrize("event", ["hello", None, {"text": "hello"}], ids=["a text", "nothing", "a dict"])
def test_what_is_no_event_is_a_bug_of_the_client_and_not_tried_again(event: Any) -> None:
    with pytest.raises(ModelError, match=f"yielded {type(event).__name__}; yield TextDelta") as raised:
        assembled([event, END])
    assert (raised.value.kind, raised.value.code) == (ModelErrorKind.PERMANENT, "malformed_event")


def calls(count: int) -> list[StreamEvent]:
    return [ToolCallDelta(index, name="x") for index in range(count)]


def arguments(size: int) -> list[StreamEvent]:
    return [ToolCallDelta(0, name="x"), *[ToolCallDelta(0, arguments_fragment="a" * (size // 2))] * 2]


@pytest.mark.parametrize(
    ("fits", "goes_over"),
    [
        pytest.param(
            [TextDelta("a" * MAX_ANSWER_BYTES)],
            [TextDelta("a" * MAX_ANSWER_BYTES), TextDelta("a")],
            id="answer",
        ),
        pytest.param(
            [TextDelta("ä" * (MAX_ANSWER_BYTES // 2))],
            [TextDelta("ä" * (MAX_ANSWER_BYTES // 2 + 1))],
            id="bytes",
        ),
        pytest.param(
            [TextDelta("\n" * (MAX_ANSWER_BYTES // 2))], [TextDelta("\n" * MAX_ANSWER_BYTES)], id="escapes"
        ),
        pytest.param(
            [ReasoningDelta("a" * 99), RefusalDelta("a" * (MAX_ANSWER_BYTES - 99))],
            [ReasoningDelta("a" * 100), RefusalDelta("a" * (MAX_ANSWER_BYTES - 99))],
            id="kinds count together",
        ),
        pytest.param(calls(MAX_CALLS), calls(MAX_CALLS + 1), id="calls"),
        pytest.param(
            arguments(MAX_ARGUMENTS_BYTES), arguments(MAX_ARGUMENTS_BYTES + 2), id="arguments of a call"
        ),
    ],
)
def test_an_answer_over_a_bound_is_not_tried_again(
    fits: list[StreamEvent], goes_over: list[StreamEvent]
) -> None:
    assert assembled([*fits, END]).message.parts
    with pytest.raises(ModelError, match="ask for less") as raised:
        assembled(goes_over)
    assert (raised.value.kind, raised.value.code) == (ModelErrorKind.PERMANENT, "answer_too_large")

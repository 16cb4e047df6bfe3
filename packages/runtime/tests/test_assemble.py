"""Streams become messages, and a stream that breaks a law becomes a typed error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.model_calls import SOURCE, assembled
from psych_runtime.model.assemble import MAX_ANSWER_BYTES, MAX_CALLS, MAX_MEDIA_BYTES
from psych_runtime.testing.assemble import assemble
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ids import RunId, derive_call_id
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    FinishReason,
    ImagePart,
    Media,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
)
from psych_runtime_core.ports.model import (
    MediaDelta,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)

END = StreamDone(FinishReason.STOP)


PICTURE = Media(media_type="image/png", data=b"png")
SOUND = Media(media_type="audio/mpeg", url="https://host/sound")


def called(ordinal: int, name: str, arguments: str = "", **fields: Any) -> ToolCall:
    call_id = derive_call_id(RunId("run_1"), "", 1, ordinal)
    return ToolCall(id=call_id, name=name, arguments=arguments, **fields)


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
                called(0, "search", '{"q":1}', provider_id="p0"),
                TextPart(text="b"),
                called(1, "stop", "{}"),
                TextPart(text="c"),
            ),
            id="a call stands where it began, its fragments may come between others",
        ),
        pytest.param([TextDelta("\ud83d"), TextDelta("\ude00")], (TextPart(text="😀"),), id="halves join"),
        pytest.param(
            [TextDelta("a"), TextDelta("b", {"sig": 1}), TextDelta("c")],
            (TextPart(text="ab", opaque={"sig": 1}), TextPart(text="c")),
            id="a mark closes its text",
        ),
        pytest.param(
            [ReasoningDelta("hm"), ReasoningDelta("", "sig"), ReasoningDelta("", "redacted"), TextDelta("a")],
            (
                ReasoningPart(text="hm", opaque="sig"),
                ReasoningPart(text="", opaque="redacted"),
                TextPart(text="a"),
            ),
            id="a mark that comes alone closes the reasoning before it, or stands alone",
        ),
        pytest.param(
            [TextDelta("a", "sig"), ReasoningDelta("hm"), TextDelta(""), TextDelta("b", 0)],
            (TextPart(text="a", opaque="sig"), ReasoningPart(text="hm"), TextPart(text="b", opaque=0)),
            id="anything but null is a mark, and nothing is no text",
        ),
        pytest.param(
            [
                ToolCallDelta(0, None, "f", "{", {"sig": 1}),
                OpaqueDelta("search", None),
                ToolCallDelta(0, arguments_fragment="}"),
                ToolCallDelta(1, None, "g"),
                ToolCallDelta(1, opaque="late"),
            ],
            (
                called(0, "f", "{}", opaque={"sig": 1}),
                OpaquePart(kind="search", opaque=None),
                called(1, "g", opaque="late"),
            ),
            id="a call keeps its mark wherever it came, and opaque matter its place",
        ),
        pytest.param(
            [TextDelta("a"), MediaDelta(PICTURE, "cat"), TextDelta("b"), MediaDelta(SOUND, "song")],
            (
                TextPart(text="a"),
                ImagePart(media=PICTURE),
                TextPart(text="b"),
                FilePart(media=SOUND, name="song"),
            ),
            id="pictures and files part texts",
        ),
        pytest.param(
            [MediaDelta(SOUND), MediaDelta(SOUND, "n" * 300)],
            (FilePart(media=SOUND, name="audio.mpeg"), FilePart(media=SOUND, name="n" * 255)),
            id="a file without a name is called after its type, a long name is cut",
        ),
    ],
)
def test_parts_are_what_was_streamed(stream: list[StreamEvent], parts: tuple[AssistantPart, ...]) -> None:
    made = assembled([*stream, END])
    assert made.message == AssistantMessage(parts=parts, source=SOURCE)
    assert made.done is END


def test_a_stream_assembles_to_a_message_whose_calls_are_numbered() -> None:
    message = assemble([TextDelta("a"), ToolCallDelta(0, None, "f", "{}"), ToolCallDelta(1, None, "g"), END])
    assert [call.id for call in message.tool_calls] == ["call_0", "call_1"]
    assert (message.text, message.source.provider) == ("a", "")
    assert assemble([END], SOURCE).source == SOURCE
    with pytest.raises(ModelError, match="without a StreamDone"):
        assemble([TextDelta("a")])


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


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize(
    "opaque",
    [
        pytest.param(b"bytes", id="bytes"),
        pytest.param({"n": float("nan")}, id="not a number"),
        pytest.param(nested(200), id="too deep"),
    ],
)
def test_opaque_matter_that_no_record_holds_is_refused(opaque: Any) -> None:
    for event in (
        TextDelta("a", opaque),
        ToolCallDelta(0, None, "f", opaque=opaque),
        OpaqueDelta("x", opaque),
    ):
        with pytest.raises(ModelError, match="cannot be kept") as raised:
            assembled([event, END])
        assert (raised.value.kind, raised.value.code) == (ModelErrorKind.PERMANENT, "malformed_event")


def calls(count: int) -> list[StreamEvent]:
    return [ToolCallDelta(index, name="x") for index in range(count)]


def picture(size: int) -> Media:
    return Media(media_type="image/png", blob_key="b", size_bytes=size)


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
        pytest.param(
            [ReasoningDelta("a", "b" * 98), OpaqueDelta("", "a" * (MAX_ANSWER_BYTES - 103))],
            [ReasoningDelta("a", "b" * 99), OpaqueDelta("", "a" * (MAX_ANSWER_BYTES - 103))],
            id="opaque matter counts with its quotes",
        ),
        pytest.param(
            [MediaDelta(picture(MAX_MEDIA_BYTES))], [MediaDelta(picture(MAX_MEDIA_BYTES + 1))], id="one media"
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
    with pytest.raises(ModelError, match="Ask for less") as raised:
        assembled(goes_over)
    assert (raised.value.kind, raised.value.code) == (ModelErrorKind.PERMANENT, "answer_too_large")

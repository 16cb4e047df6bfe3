"""Replies as providers stream them: content, ends and errors, whatever form a provider gives them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from packages.runtime.tests.chat_chunks import (
    ERRORS,
    NO_CHOICES,
    Chunk,
    call,
    calls,
    choice,
    delta,
    events_of,
    finish,
    money,
    read,
    text,
)
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.messages import FinishReason, ImagePart
from psych_runtime_core.ports.model import ReasoningDelta, RefusalDelta, StreamDone, TextDelta
from psych_runtime_core.usage import Usage

USED = {"prompt_tokens": 7, "completion_tokens": 2}
PNG = "data:image/png;base64,iVBORw0K"
IMAGE = {"type": "image_url", "image_url": {"url": PNG}}
NO_CHUNKS: list[object] = [None, [], "x", 7, {"choices": [None]}, {"choices": "x"}]
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
HELLO = [("text", "Hello")]


def message(**fields: object) -> Chunk:
    return choice(message=fields, finish_reason="stop")


CONTENT = [
    pytest.param([text("Hel"), NO_CHOICES, text("lo")], HELLO, id="C1 no choices"),
    pytest.param([{"choices": None}, text("Hello"), {"id": "x"}], HELLO, id="C1 choices null or missing"),
    pytest.param([text("Hello"), choice(delta=None)], HELLO, id="C2 delta null"),
    pytest.param([text("Hello"), choice()], HELLO, id="C2 delta missing"),
    pytest.param(
        [
            {**NO_CHOICES, "id": "", "model": "", "prompt_filter_results": [{"prompt_index": 0}]},
            text("Hello"),
            choice(content_filter_results={"hate": {"filtered": False}}, content_filter_offsets={}),
        ],
        HELLO,
        id="C3 filter results",
    ),
    pytest.param([text(None), text(""), text("Hello")], HELLO, id="C4 null and empty"),
    pytest.param([text(7), text(Decimal("1.5"))], [("text", "71.5")], id="C4 numbers"),
    pytest.param([text(True)], [("text", "true")], id="C4 bool"),
    pytest.param([text([{"type": "text", "text": "Hel"}, "lo"])], HELLO, id="C5 parts of text"),
    pytest.param([text([THOUGHT])], [("reasoning", "Hm.")], id="C5 thinking"),
    pytest.param(
        [text([{"type": "thinking", "thinking": "H"}]), text([{"type": "thinking", "thinking": "m."}])],
        [("reasoning", "Hm.")],
        id="C5 thinking in pieces",
    ),
    pytest.param(
        [text([THOUGHT, {"type": "text", "text": "Hello"}])], [("reasoning", "Hm."), *HELLO], id="C5 mixed"
    ),
    pytest.param(
        [text([{"type": "text", "text": "Hello"}, {"type": "odd", "x": Decimal("0.5")}])],
        [*HELLO, ("opaque", "content")],
        id="C5 unknown kinds",
    ),
    pytest.param([text([{"type": "refusal", "refusal": "No."}])], [("refusal", "No.")], id="C5 refusal"),
    pytest.param([text([IMAGE])], [("image", "image/png")], id="C5 picture"),
    pytest.param([message(content="Hello")], HELLO, id="C6 a message in place of deltas"),
    pytest.param([choice(message={"content": "Hel"}), message(content="lo")], HELLO, id="C6 and in pieces"),
    pytest.param(
        [text("Hel"), text("lo"), message(content="Hello", reasoning_content="Hm.")],
        [*HELLO, ("reasoning", "Hm.")],
        id="C6 a message after deltas",
    ),
    pytest.param(
        [
            calls(call(1, "a", "look", "{}")),
            message(tool_calls=[call(None, "a", "look", "{}"), call(None, "b", "find", "[]")]),
        ],
        [("call", "look{}"), ("call", "find[]")],
        id="C6 calls of a message after deltas",
    ),
    pytest.param(
        [
            {
                "choices": [
                    {"index": 1, "delta": {"content": "Bye"}},
                    {"index": 0, "delta": {"content": "Hel"}},
                ]
            },
            text("lo"),
        ],
        HELLO,
        id="C7 two choices",
    ),
    pytest.param([{"choices": [{"delta": {"content": "Hello"}}]}], HELLO, id="C8 a choice without a number"),
    pytest.param([text("Hello"), delta(refusal="No.")], [*HELLO, ("refusal", "No.")], id="C9 after text"),
    pytest.param([delta(images=[IMAGE])], [("image", "image/png")], id="C10 data URL"),
    pytest.param(
        [delta(images=[{"image_url": {"url": "https://img.example/a.JPG?x"}}])],
        [("image", "https://img.example/a.JPG?x")],
        id="C10 https URL",
    ),
    pytest.param(
        [delta(images=[{"image_url": {"url": "http://img.example/a"}}, "data:image/png;base64,?"])],
        [("opaque", "images"), ("opaque", "images")],
        id="C10 what is no picture",
    ),
    pytest.param([{**choice(delta={"content": "Hello", "x": {}}, y=[1]), "z": None}], HELLO, id="C11"),
    pytest.param([text("a\0b\\u0000")], [("text", "a\0b\\u0000")], id="C13"),
    pytest.param([*NO_CHUNKS, text("Hello")], HELLO, id="B12"),
    pytest.param([text("a\u2028b\x85c\x0bd\x0c")], [("text", "a\u2028b\x85c\x0bd\x0c")], id="B13"),
    pytest.param([text("\ud83d"), text("\ude00!")], [("text", "😀!")], id="B5 a pair in two deltas"),
    pytest.param([text("\ud83d"), finish(None), text("\ude00")], [("text", "😀")], id="B5 and between them"),
    pytest.param([text("a\udc00b\ud83d"), text("c")], [("text", "a\ufffdb\ufffdc")], id="B5 lone ones"),
    pytest.param([text("a\ud83d")], [("text", "a\ufffd")], id="B5 a lone one at the end"),
    pytest.param(
        [text("a\ud83d"), delta(refusal="no")], [("text", "a\ufffd"), ("refusal", "no")], id="B5 at a change"
    ),
]


@pytest.mark.parametrize(("chunks", "parts"), CONTENT)
def test_content_is_read_in_every_form(chunks: list[object], parts: list[tuple[str, str]]) -> None:
    assert read(*chunks, finish()).parts == parts


def test_no_delta_holds_half_a_character() -> None:
    events = events_of(text("a\udc00b\ud83d"), text("\ude00"), delta(refusal="\ud83d"), finish())
    said = [event.text for event in events if isinstance(event, TextDelta | RefusalDelta)]
    assert said == ["a\ufffdb", "😀", "\ufffd"]


def test_chunks_without_choices_still_tell_usage_cost_and_errors() -> None:
    told = read(text("Hello"), finish(), {"choices": None, "usage": {**USED, "cost": Decimal("0.5")}})
    assert (told.end.usage, money(told)) == (Usage(input=7, output=2), Decimal("0.5"))
    with pytest.raises(ModelError):
        read(text("Hello"), {"choices": [], "error": {"message": "overloaded"}})


def test_an_unknown_part_and_an_unusable_picture_are_kept_whole() -> None:
    odd = {"type": "odd", "deep": [{"n": Decimal("0.5"), "huge": Decimal("1e999"), "none": None}]}
    told = read(text([odd]), delta(images=["ftp://x"]), finish())
    kept = {"type": "odd", "deep": [{"n": 0.5, "huge": "1E+999", "none": None}]}
    assert told.replayed == [{"field": "content", "part": kept}, {"field": "images", "part": "ftp://x"}]


def test_a_picture_has_its_bytes_or_its_address_and_a_type() -> None:
    urls = ["https://img.example/a.webp#x", "https://img.example/plain"]
    pictures = [{"image_url": {"url": url}} for url in urls]
    parts = read(delta(images=[IMAGE, *pictures]), finish()).message.parts
    media = [part.media for part in parts if isinstance(part, ImagePart)]
    assert [one.media_type for one in media] == ["image/png", "image/webp", "image/x-unknown"]
    assert media[0].data == bytes.fromhex("89504e470d0a")


def test_a_thinking_part_says_how_it_goes_back() -> None:
    signed = {"type": "thinking", "thinking": "H", "signature": "s1"}
    told = read(text([THOUGHT, signed, signed, {"type": "text", "text": "Hello"}]), finish())
    assert told.parts == [("reasoning", "Hm.H"), ("reasoning", "H"), ("text", "Hello")]
    extra = {"field": "content", "form": "text", "extra": {"signature": "s1"}}
    assert told.replayed == [extra, extra]
    assert read(text([THOUGHT]), finish()).replayed == [{"field": "content", "form": "parts", "extra": {}}]


# --- ends ----------------------------------------------------------------------------------------------

LOOK = calls(call(0, "a", "look", "{}"))


@pytest.mark.parametrize(
    ("chunks", "done", "reason"),
    [
        pytest.param([text("Hello"), finish()], False, FinishReason.STOP, id="D2 no mark of the end"),
        pytest.param([text("Hello")], True, FinishReason.STOP, id="D4 text without a reason"),
        pytest.param([LOOK], True, FinishReason.TOOL_CALLS, id="D4 a call without a reason"),
        pytest.param([text("Hel"), finish(), text("lo")], True, FinishReason.STOP, id="D6"),
        pytest.param([finish(), finish()], True, FinishReason.STOP, id="D7 repeated"),
        pytest.param([finish(None), finish("length")], True, FinishReason.LENGTH, id="D7 null, then a word"),
        pytest.param([finish(""), finish("length")], True, FinishReason.LENGTH, id="D7 empty, then a word"),
        pytest.param([finish("length"), finish("")], True, FinishReason.LENGTH, id="D7 a word, then empty"),
        pytest.param([LOOK, finish("stop")], True, FinishReason.TOOL_CALLS, id="D8 stop with calls"),
        pytest.param([text("x"), finish("tool_calls")], True, FinishReason.STOP, id="D8 without calls"),
        pytest.param([text("Hel"), finish("length")], True, FinishReason.LENGTH, id="D9 inside text"),
        pytest.param([delta(refusal="No."), finish()], True, FinishReason.REFUSAL, id="C9 refusal alone"),
        pytest.param([delta(reasoning="Hm."), finish()], True, FinishReason.STOP, id="R6 reasoning alone"),
    ],
)
def test_an_answer_ends_for_a_reason(chunks: list[object], done: bool, reason: FinishReason) -> None:
    assert read(*chunks, done=done).end.finish_reason is reason


def test_a_call_that_the_length_cuts_keeps_its_raw_arguments() -> None:
    told = read(calls(call(0, "a", "look", '{"at": 1, "fo')), finish("length"))
    assert (told.calls, told.end.finish_reason) == ([("look", '{"at": 1, "fo', "a")], FinishReason.LENGTH)


@pytest.mark.parametrize(("word", "raw"), [("banana", "banana"), ("STOP", "STOP"), (7, "7"), (None, None)])
def test_the_word_of_the_provider_is_kept(word: object, raw: str | None) -> None:
    end = read(text("Hello"), finish(word)).end
    assert (end.finish_reason, end.raw_finish_reason) == (FinishReason.STOP, raw)


def test_false_is_no_finish_reason() -> None:
    with pytest.raises(ModelError) as caught:
        read(choice(delta={"content": "Hel"}, finish_reason=False), done=False)
    assert caught.value.code == "truncated"


@pytest.mark.parametrize(
    ("chunks", "done", "code"),
    [
        pytest.param([text("Hello")], False, "truncated", id="D3 text"),
        pytest.param([LOOK], False, "truncated", id="D3 a call"),
        pytest.param([], True, "empty_response", id="D4 nothing"),
        pytest.param([delta(role="assistant", content="")], True, "empty_response", id="D4 a role"),
        pytest.param([], False, "empty_response", id="H3 no body"),
        pytest.param(
            [{"choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "stop"}]}],
            True,
            "empty_response",
            id="C7 another choice alone",
        ),
        pytest.param([text("x"), finish("error")], True, "error", id="D10 error"),
        pytest.param([text("x"), finish("Network-Error")], True, "Network-Error", id="D10 network_error"),
        pytest.param([finish("abort")], False, "abort", id="D10 abort"),
        pytest.param([calls(call(0, "a", None, "{}")), finish()], True, "nameless_call", id="T18"),
    ],
)
def test_what_is_no_whole_answer_may_be_asked_for_again(chunks: list[object], done: bool, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        events_of(*chunks, done=done, headers={"X-Request-Id": "req_7"})
    error = caught.value
    assert (error.kind, error.code) == (ModelErrorKind.TRANSIENT, code)
    assert (error.provider, error.model, error.request_id) == ("acme", "large", "req_7")


def test_a_word_that_breaks_an_answer_off_is_shown_without_a_secret() -> None:
    with pytest.raises(ModelError, match="network_error"):
        read(text("Hello"), finish("network_error"))
    with pytest.raises(ModelError) as caught:
        read(text("Hello"), finish("abort"), {"error": {"message": "bad key sk-secret"}})
    assert "sk-secret" not in str(caught.value)


def test_usage_after_the_end_counts_and_text_does_not() -> None:
    stream = ChatStream(ERRORS)
    assert stream.feed(text("Hello")) == [TextDelta("Hello")]
    before = stream.finished
    stream.feed(finish())
    assert (before, stream.finished) == (False, True)
    stream.late({**text("more"), "usage": USED})
    stream.late(None)
    assert stream.end(True) == [
        StreamDone(
            FinishReason.STOP, "stop", Usage(input=7, output=2), served_model="large", response_id="c1"
        )
    ]


def test_the_end_names_who_answered() -> None:
    first = {**NO_CHOICES, "id": "", "model": "", "service_tier": None}
    second = {**text("Hi"), "id": "c\ud800", "model": "large-2", "service_tier": "flex"}
    end = read(first, second, {**NO_CHOICES, "id": 7}, finish(model="")).end
    assert (end.response_id, end.served_model, end.service_tier) == ("c1", "large-2", "flex")


# --- errors in the reply -------------------------------------------------------------------------------

FAILED: Chunk = {"error": {"message": "The engine is overloaded", "code": "overloaded_error"}}


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        pytest.param([FAILED], ModelErrorKind.TRANSIENT, id="E1 first"),
        pytest.param([text("Hel"), FAILED], ModelErrorKind.TRANSIENT, id="E1 after text"),
        pytest.param([{**text("Hel"), **FAILED}], ModelErrorKind.TRANSIENT, id="E1 beside choices"),
        pytest.param([{"error": {"message": "bad", "code": 400}}], ModelErrorKind.PERMANENT, id="E2 a code"),
        pytest.param([choice(delta={}, **FAILED)], ModelErrorKind.TRANSIENT, id="E4 inside a choice"),
        pytest.param(
            [choice(delta={}, finish_reason="error", **FAILED)],
            ModelErrorKind.TRANSIENT,
            id="E4 with its word",
        ),
        pytest.param([{"object": "error", "message": "x"}], ModelErrorKind.TRANSIENT, id="E5"),
    ],
)
def test_an_error_in_the_reply_is_never_an_answer(chunks: list[object], kind: ModelErrorKind) -> None:
    with pytest.raises(ModelError) as caught:
        read(*chunks, finish())
    assert caught.value.kind is kind


def test_an_event_named_error_is_one_whatever_it_holds() -> None:
    for payload in ({"message": "down"}, "we are down"):
        with pytest.raises(ModelError, match="down"):
            ChatStream(ERRORS).feed(payload, event="error")


@pytest.mark.parametrize("nothing", [None, {}, ""], ids=["null", "empty object", "empty text"])
def test_an_error_that_is_none_is_ignored(nothing: object) -> None:
    assert read({**text("Hello"), "error": nothing}, {**finish(), "error": nothing}).parts == HELLO


# --- whole replies -------------------------------------------------------------------------------------


def test_a_whole_reply_gives_the_events_of_a_stream() -> None:
    entries = [
        call(None, "a", "look", {"q": Decimal("1.50")}),
        call(None, None, "find"),
        call(None, None, "find"),
    ]
    reply: dict[str, Any] = {**message(content="Hello", reasoning="Hm.", tool_calls=entries), "usage": USED}
    events = ChatStream(ERRORS).whole(reply)
    mark = ReasoningDelta("", {"field": "reasoning"})
    assert events[:3] == [ReasoningDelta("Hm."), mark, TextDelta("Hello")]
    told = read(reply)
    assert told.calls == [("look", '{"q":1.50}', "a"), ("find", "", None), ("find", "", None)]
    assert (told.end.finish_reason, told.end.usage) == (FinishReason.TOOL_CALLS, Usage(input=7, output=2))
    assert events[-1] == told.end


@pytest.mark.parametrize(
    ("reply", "kind", "code"),
    [
        pytest.param({"models": []}, ModelErrorKind.PERMANENT, "not_a_model", id="another document"),
        pytest.param([], ModelErrorKind.PERMANENT, "not_a_model", id="no object"),
        pytest.param({"choices": []}, ModelErrorKind.TRANSIENT, "empty_response", id="no choice"),
        pytest.param(FAILED, ModelErrorKind.TRANSIENT, "overloaded_error", id="an error"),
    ],
)
def test_a_whole_reply_that_is_no_answer(reply: object, kind: ModelErrorKind, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        ChatStream(ERRORS).whole(reply)
    assert (caught.value.kind, caught.value.code) == (kind, code)


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(text([{"type": "odd", "x": nested(130)}]), id="a part"),
        pytest.param(calls(call(0, "a", "f", nested(130))), id="arguments"),
        pytest.param(calls({**call(0, "a", "f"), "x": nested(130)}), id="private matter"),
    ],
)
def test_what_is_nested_too_deeply_to_keep_is_malformed(chunk: Chunk) -> None:
    with pytest.raises(ModelError) as caught:
        ChatStream(ERRORS).feed(chunk)
    assert (caught.value.kind, caught.value.code) == (ModelErrorKind.TRANSIENT, "malformed_event")

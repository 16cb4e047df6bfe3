"""What a model thinks aloud: shown once, and kept as its provider wants it back."""

from __future__ import annotations

from decimal import Decimal

import pytest

from packages.runtime.tests.chat_chunks import (
    ERRORS,
    Chunk,
    call,
    calls,
    delta,
    events_of,
    finish,
    read,
    text,
)
from psych_runtime.model.assemble import MAX_ANSWER_BYTES
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime_core.errors import ModelError
from psych_runtime_core.ports.model import ReasoningDelta, TextDelta, ToolCallDelta

HM = [("reasoning", "Hm.")]


def from_field(name: str) -> dict[str, str]:
    return {"field": name}


def details(*entries: object, **fields: object) -> Chunk:
    return delta(reasoning_details=list(entries), **fields)


def blocks(*entries: object, **fields: object) -> Chunk:
    return delta(thinking_blocks=list(entries), **fields)


@pytest.mark.parametrize(
    ("chunks", "parts", "kept"),
    [
        pytest.param(
            [delta(reasoning_content="H"), delta(reasoning_content="m.")],
            HM,
            [from_field("reasoning_content")],
            id="R1 reasoning_content",
        ),
        pytest.param([delta(reasoning="Hm.")], HM, [from_field("reasoning")], id="R1 reasoning"),
        pytest.param(
            [delta(reasoning_content=piece, reasoning=piece) for piece in ("H", "m.")],
            HM,
            [from_field("reasoning_content")],
            id="R1 both",
        ),
        pytest.param([delta(reasoning={"content": "Hm."})], HM, [from_field("reasoning")], id="R2 an object"),
        pytest.param(
            [delta(reasoning=[{"text": "H"}, {"summary": [{"text": "m"}]}, "."])],
            HM,
            [from_field("reasoning")],
            id="R2 a list",
        ),
        pytest.param(
            [delta(reasoning={"sealed": Decimal("1.0")})],
            [("opaque", "reasoning")],
            [{"field": "reasoning", "value": {"sealed": 1}}],
            id="R2 without text",
        ),
        pytest.param(
            [delta(reasoning={}, reasoning_content=[]), delta(reasoning=False), text("x")],
            [("text", "x")],
            [],
            id="R2 empty",
        ),
        pytest.param(
            [delta(reasoning_content=blank, reasoning=blank, content="x") for blank in (None, "")],
            [("text", "xx")],
            [],
            id="R5",
        ),
        pytest.param([text("<think>Hm."), text("</think>x")], [("text", "<think>Hm.</think>x")], [], id="R8"),
        pytest.param(
            [delta(reasoning="a"), text("b"), delta(reasoning="c")],
            [("reasoning", "a"), ("text", "b"), ("reasoning", "c")],
            [from_field("reasoning")] * 2,
            id="each thought says its field",
        ),
        pytest.param(
            [delta(reasoning="\ud83d"), delta(reasoning="\ude00\ud83d"), text("x")],
            [("reasoning", "😀\ufffd"), ("text", "x")],
            [from_field("reasoning")],
            id="whole characters",
        ),
    ],
)
def test_thoughts_are_shown_once_and_marked(
    chunks: list[Chunk], parts: list[tuple[str, str]], kept: list[object]
) -> None:
    told = read(*chunks, finish())
    assert (told.parts, told.replayed) == (parts, kept)


def test_a_thought_closes_before_what_follows() -> None:
    events = events_of(
        delta(reasoning="Hm."), text("x"), delta(reasoning="So."), calls(call(0, "a", "f", "{}")), finish()
    )
    closes = ReasoningDelta("", {"field": "reasoning"})
    assert events[:5] == [ReasoningDelta("Hm."), closes, TextDelta("x"), ReasoningDelta("So."), closes]


def test_a_thought_closes_before_a_call_that_another_thought_lets_out() -> None:
    begins = calls(call(0, "a", "f"))
    events = events_of(delta(reasoning="Hm."), begins, delta(reasoning="So."), finish("tool_calls"))
    closes, begun = ReasoningDelta("", {"field": "reasoning"}), ToolCallDelta(0, "a", "f")
    assert events[:-1] == [ReasoningDelta("Hm."), closes, begun, ReasoningDelta("So."), closes]


def test_details_in_pieces_are_joined_by_their_index_and_come_back_whole() -> None:
    said = {"type": "reasoning.text", "index": 0, "format": "v1", "signature": None}
    chunks = [
        details({**said, "text": "H"}, reasoning="H"),
        details({**said, "text": "m."}, reasoning="m."),
        details({"type": "reasoning.summary", "index": 1, "summary": "In "}),
        details({"index": 0, "type": "reasoning.text", "signature": "sig", "text": ""}),
        details({"index": 1, "summary": "short"}),
        details(
            {"type": "reasoning.encrypted", "index": 0, "data": "AB"},
            {"type": "reasoning.encrypted", "data": "X"},
        ),
        text("Hello"),
        details(
            {"type": "reasoning.encrypted", "index": 0, "data": "CD"},
            {"type": "reasoning.encrypted", "data": "Y"},
        ),
    ]
    told = read(*chunks, finish())
    items = [
        {**said, "text": "Hm.", "signature": "sig"},
        {"type": "reasoning.summary", "index": 1, "summary": "In short"},
        {"type": "reasoning.encrypted", "index": 0, "data": "ABCD"},
        {"type": "reasoning.encrypted", "data": "X"},
        {"type": "reasoning.encrypted", "data": "Y"},
    ]
    assert told.parts == [("reasoning", "Hm."), ("text", "Hello"), ("reasoning", "")]
    assert told.replayed == [from_field("reasoning"), {"field": "reasoning_details", "items": items}]


def test_details_are_shown_where_nothing_else_is() -> None:
    chunks = [
        details({"type": "reasoning.text", "text": "H"}),
        details({"type": "reasoning.summary", "summary": "m."}),
    ]
    told = read(*chunks, text("x"), finish())
    assert told.parts[:2] == [("reasoning", "Hm."), ("text", "x")]
    assert read(details({"type": "reasoning.encrypted", "data": "X"})).message.reasoning == ""


def test_thinking_blocks_come_back_with_their_signatures() -> None:
    chunks = [
        *(blocks({"type": "thinking", "thinking": piece}, reasoning_content=piece) for piece in ("H", "m.")),
        blocks({"type": "thinking", "thinking": "", "signature": "s1"}),
        blocks({"type": "thinking", "thinking": "So."}, {"type": "thinking", "signature": "s2"}),
        blocks({"type": "redacted_thinking", "data": "R1"}, {"type": "redacted_thinking", "data": "R2"}),
    ]
    told = read(*chunks, text("x"), finish())
    items = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s1"},
        {"type": "thinking", "thinking": "So.", "signature": "s2"},
        {"type": "redacted_thinking", "data": "R1"},
        {"type": "redacted_thinking", "data": "R2"},
    ]
    assert told.parts == [("reasoning", "Hm."), ("text", "x"), ("reasoning", "")]
    assert told.replayed == [from_field("reasoning_content"), {"field": "thinking_blocks", "items": items}]


def test_blocks_alone_are_shown() -> None:
    told = read(
        blocks({"type": "thinking", "thinking": "Hm.", "signature": "s"}, None, 7), text("x"), finish()
    )
    assert told.message.reasoning == "Hm."
    assert told.replayed[0] == from_field("thinking_blocks")


def test_reasoning_that_nobody_could_keep_is_refused() -> None:
    stream = ChatStream(ERRORS)
    piece = details({"type": "reasoning.text", "index": 0, "format": "f" * 100, "text": "x" * 60_000})
    for _ in range(MAX_ANSWER_BYTES // 60_000):
        stream.feed(piece)
    with pytest.raises(ModelError) as caught:
        stream.feed(piece)
    assert caught.value.code == "answer_too_large"


def test_what_every_piece_of_an_item_repeats_is_kept_once() -> None:
    stream = ChatStream(ERRORS)
    for _ in range(30_000):
        stream.feed(details({"type": "reasoning.text", "index": 0, "format": "f" * 100, "text": "x"}))
    *_, items, _end = stream.end(True)
    assert isinstance(items, ReasoningDelta)
    assert len(str(items.opaque)) < 31_000

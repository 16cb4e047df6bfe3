"""The data of a server-sent event: its chunks, the end, or an error that shows where it broke."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from packages.runtime.tests.chat_chunks import ERRORS
from psych_runtime.model.chat.reply.payload import MAX_EVENT_VALUES, Payload, read_payload
from psych_runtime_core.errors import ModelError, ModelErrorKind

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("data", "payload"),
    [
        pytest.param('{"a": 1}', Payload(({"a": 1},)), id="an object"),
        pytest.param('{"a":\n1}', Payload(({"a": 1},)), id="B8 over several lines"),
        pytest.param('{"a": 1}\n\n{"b": 2}', Payload(({"a": 1}, {"b": 2})), id="B9 an object a line"),
        pytest.param('{"a": 1}\n7\n: x\n{"b": 2}', Payload(({"a": 1}, {"b": 2})), id="B9 with others"),
        pytest.param('{"a": 1}\r\n[DONE]\n{"b": 2}', Payload(({"a": 1},), done=True), id="B9 with the end"),
        pytest.param('{"a": "\u2028\x85\x0b\x0c"}', Payload(({"a": "\u2028\x85\x0b\x0c"},)), id="B13"),
        pytest.param("", Payload(), id="B10 empty"),
        pytest.param("  ", Payload(), id="B10 blank"),
        pytest.param(": PROCESSING", Payload(), id="B11"),
        pytest.param("null", Payload(), id="B12 null"),
        pytest.param("[]", Payload(), id="B12 list"),
        pytest.param('[{"a": 1}]', Payload(), id="B12 list of objects"),
        pytest.param('"x"', Payload(), id="B12 text"),
        pytest.param("7", Payload(), id="B12 number"),
        pytest.param("[DONE]", Payload(done=True), id="D1"),
        pytest.param("  [DONE] \r", Payload(done=True), id="D1 blanks, CR"),
        pytest.param("[done]", Payload(done=True), id="D1 lower case"),
        pytest.param('{"a": 1.50, "b": 2}', Payload(({"a": Decimal("1.50"), "b": 2},)), id="exact floats"),
    ],
)
def test_an_event_holds_chunks_or_the_end(data: str, payload: Payload) -> None:
    assert read_payload(data, ERRORS) == payload


def test_figures_that_are_none_spoil_no_chunk() -> None:
    (chunk,) = read_payload('{"a": NaN, "b": -Infinity, "c": 1e99999999999999999999}', ERRORS).chunks
    assert not isinstance(chunk, str)
    assert not any(number.is_finite() for number in chunk.values())


@pytest.mark.parametrize("digits", [4_300, 4_301, 100_000])
def test_a_number_without_end_keeps_its_digits_and_spoils_no_chunk(digits: int) -> None:
    (chunk,) = read_payload(f'{{"a": -{"9" * (digits - 1)}, "b": "x"}}', ERRORS).chunks
    assert not isinstance(chunk, str)
    assert (str(chunk["a"]), chunk["b"]) == ("-" + "9" * (digits - 1), "x")


OVER = MAX_EVENT_VALUES + 2
CROWDS = {
    "numbers": "[" + "1," * OVER + "1]",
    "empty lists": "[" + "[]," * OVER + "1]",
    "lines": "7\n" * OVER,
    "objects": '{"a":' + '{"b":1},' * OVER + "1}",
    "behind words": '{"a": "' + ",[{" * 100_000 + '", "b": [' + "1," * OVER + "1]}",
    "behind words without end": '{"a": [' + "1," * OVER + '"\\"\\"',
}


@pytest.mark.parametrize("data", CROWDS.values(), ids=CROWDS)
def test_an_event_of_more_values_than_any_answer_has_is_not_parsed(data: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_payload(data, ERRORS)
    assert (caught.value.kind, caught.value.code) == (ModelErrorKind.PERMANENT, "answer_too_large")


def test_what_stands_in_words_is_no_value() -> None:
    words = '",[{\\\n' * 600_000
    assert read_payload(json.dumps({"a": words, "b": [1] * 1_000}), ERRORS).chunks == (
        {"a": words, "b": [1] * 1_000},
    )


def test_half_characters_come_through_to_be_joined() -> None:
    assert read_payload(r'{"a": "\ud83d"}', ERRORS).chunks == ({"a": "\ud83d"},)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("data of a stranger", id="B16 no JSON"),
        pytest.param('{"a": ', id="B16 cut"),
        pytest.param('{"a": 1}\n{"b": ', id="B16 a bad line"),
        pytest.param('{"a": 1}{"b": 2}', id="B16 two on a line"),
        pytest.param("x" * 5_000 + "sk-secret", id="B16 long"),
        pytest.param(DEEP, id="B18 arrays"),
        pytest.param('{"a":' * 100_000, id="B18 objects"),
        pytest.param(f'{{"a": 1}}\n{DEEP}', id="B18 a line"),
    ],
)
def test_what_cannot_be_read_is_shown_in_short(data: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_payload(data, ERRORS)
    error = caught.value
    assert (error.kind, error.code) == (ModelErrorKind.TRANSIENT, "malformed_event")
    assert data[:5] in error.message
    assert len(error.message) < 500
    assert "sk-secret" not in error.message

"""A model's text is one JSON object, or a problem that says where and what. Nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.specs import json_values
from psych_runtime.tools.arguments import check_size, parse_arguments
from psych_runtime.tools.problem import Problem
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.engine import wording
from psych_runtime_core.frozen import MAX_DEPTH
from psych_runtime_core.jsonvalue import FrozenDict, encode_json, json_equal
from psych_runtime_core.records.facts import FailureKind


def nested(depth: int) -> str:
    """An object with `depth` levels."""
    return '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param(" \n\t", {}, id="blanks"),
        pytest.param("{}", {}, id="an empty object"),
        pytest.param('\n {"a": [1, 2.5, null, true]} \n', {"a": [1, 2.5, None, True]}, id="blanks around it"),
        pytest.param('{"a": 12345678901234567890123}', {"a": 12345678901234567890123}, id="a long integer"),
        pytest.param('{"a": 5.0, "b": -0.0}', {"a": 5, "b": 0}, id="an integral float"),
        pytest.param(r'{"a": "\ud800\u0000"}', {"a": "\ud800\0"}, id="a lone surrogate and a NUL"),
        pytest.param(
            '{"a": "{[NaN 1e999 \\" {\\"b\\":1,\\"b\\":2}"}',
            {"a": '{[NaN 1e999 " {"b":1,"b":2}'},
            id="a text",
        ),
        pytest.param('{"a": {"b": 1}, "c": {"b": 1}}', {"a": {"b": 1}, "c": {"b": 1}}, id="equal keys apart"),
    ],
)
def test_an_object_is_read(raw: str, value: object) -> None:
    found = parse_arguments(raw)
    assert isinstance(found, FrozenDict)
    assert found == value


def test_an_object_may_be_as_deep_as_a_value() -> None:
    assert isinstance(parse_arguments(nested(MAX_DEPTH)), FrozenDict)


@pytest.mark.parametrize(
    ("raw", "position", "reason"),
    [
        pytest.param("[1]", 1, "an array in place of an object", id="an array"),
        pytest.param("  null", 3, "null in place of an object", id="null"),
        pytest.param("7", 1, "a number in place of an object", id="a number"),
        pytest.param("true", 1, "a boolean in place of an object", id="a boolean"),
        pytest.param(r'"{\"a\": 1}"', 1, "a string in place of an object", id="text in text"),
        pytest.param('{"a": 1} please', 10, "Extra data", id="trailing text"),
        pytest.param('{"a": 1}{"b": 2}', 9, "Extra data", id="two objects"),
        pytest.param('{"a": 1', 8, "Expecting ',' delimiter", id="cut off"),
        pytest.param("{'a': 1}", 2, "Expecting property name enclosed in double quotes", id="single quotes"),
        pytest.param('```json\n{"a": 1}\n```', 1, "Expecting value", id="a fence"),
        pytest.param('\ufeff{"a": 1}', 1, "Expecting value", id="a byte order mark"),
        pytest.param('{"a": "b\nc"}', 9, "Invalid control character", id="a raw line break"),
        pytest.param('{"a": [1, NaN]}', 11, "NaN is no JSON", id="NaN"),
        pytest.param('{"a": "NaN", "b": -Infinity}', 19, "-Infinity is no JSON", id="infinity"),
        pytest.param('{"a": 1e400}', 7, "a number out of range", id="a float that is infinite"),
        pytest.param('{"a": [' + "9" * 5_000 + "]}", 8, "a number out of range", id="an endless integer"),
        pytest.param(
            '{"a": 1, "b": 2, "a": 3}', 18, 'the key "a" stands twice in one object', id="a double key"
        ),
        pytest.param(
            r'{"x": [{"a": 1, "\u0061": 2}]}', 17, r'the key "\u0061" stands twice', id="a double key, deep"
        ),
        pytest.param(nested(MAX_DEPTH + 1), 133, "deeper than 128 levels", id="one level too deep"),
        pytest.param(nested(100_000), 133, "deeper than 128 levels", id="endlessly deep"),
    ],
)
def test_anything_else_is_malformed_and_says_where(raw: str, position: int, reason: str) -> None:
    problem = parse_arguments(raw)
    assert isinstance(problem, Problem)
    assert problem.kind is FailureKind.MALFORMED_ARGUMENTS
    assert problem.message.startswith(f"character {position}: {reason}")


@given(json_values(st.text()))
def test_every_json_object_is_read_as_itself(value: Any) -> None:
    read = parse_arguments(json.dumps({"a": value}))
    assert isinstance(read, FrozenDict)
    assert json_equal(read, {"a": value})


@given(st.text(alphabet='{}[]":,\\ aN1e.-\n', max_size=60))
def test_no_text_raises(raw: str) -> None:
    assert isinstance(parse_arguments(raw), FrozenDict | Problem)


def test_arguments_that_no_model_wrote_are_measured() -> None:
    room = MAX_ARGUMENTS_BYTES - len(encode_json({"a": ""}))
    assert check_size({"a": "x" * room}) is None
    problem = check_size({"a": "x" * (room + 1)})
    assert problem is not None
    assert problem.kind is FailureKind.ARGUMENTS_TOO_LARGE
    assert problem.message == wording.arguments_too_large(MAX_ARGUMENTS_BYTES + 1, MAX_ARGUMENTS_BYTES)

"""What a request to a model may hold."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest

from packages.runtime.tests.model_calls import context, request
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime_core.messages import UserMessage
from psych_runtime_core.ports.model import ModelCapabilities, ModelClient, ModelRequest

HELLO = (UserMessage(content="hello"),)


def made(fields: dict[str, Any]) -> ModelRequest:
    defaults: dict[str, Any] = {"model": "m", "messages": HELLO}
    return ModelRequest(**(defaults | fields))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model": ""}, "1 to 256 characters, this one 0"),
        ({"model": "m" * 257}, "1 to 256 characters, this one 257"),
        ({"messages": ()}, "at least one"),
        ({"temperature": 2.1}, "0 to 2"),
        ({"temperature": math.nan}, "0 to 2"),
        ({"top_p": 0.0}, "more than 0"),
        ({"top_p": 1.1}, "at most 1"),
        ({"max_output_tokens": 0}, "1 or more"),
        ({"stop": tuple("abcde")}, "at most 4"),
        ({"idle_timeout_seconds": -1.0}, "0 or more"),
        ({"idle_timeout_seconds": math.nan}, "0 or more"),
    ],
    ids=str,
)
def test_a_value_out_of_its_bounds_is_refused_with_what_to_give(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made(fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "m" * 256},
        {"temperature": 0.0, "top_p": 1.0, "max_output_tokens": 1, "stop": tuple("abcd")},
        {"temperature": 2.0, "top_p": 0.01, "idle_timeout_seconds": 0.0},
    ],
)
def test_a_value_at_its_bound_is_taken(fields: dict[str, Any]) -> None:
    assert made(fields).messages == HELLO


def test_requests_and_contexts_are_values() -> None:
    assert request() == request()
    assert {request(), request()} == {request()}
    assert context(turn=1) != context(turn=2)


def test_the_fake_model_is_a_client() -> None:
    client: ModelClient = FakeModel()
    assert client.provider == "fake"


@pytest.mark.parametrize("form", ["none", "json", "schema"])
def test_an_answer_is_bound_beside_tools_only_where_the_model_can(
    form: Literal["none", "json", "schema"],
) -> None:
    alone = ModelCapabilities(structured_output=form)
    beside = ModelCapabilities(structured_output=form, structured_with_tools=True)
    assert (alone.bound(with_tools=False), alone.bound(with_tools=True)) == (form, "none")
    assert (beside.bound(with_tools=False), beside.bound(with_tools=True)) == (form, form)

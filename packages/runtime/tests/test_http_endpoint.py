"""An HTTP tool as the pipeline sees it: what is told of it, what it takes, how its calls may run."""

from __future__ import annotations

from typing import Any

import pytest

from packages.runtime.tests.http_scenes import HastyClock, context_in
from psych_runtime.tools.any_tool import AnyTool
from psych_runtime.tools.granted import GrantedTools, RunTerms
from psych_runtime.tools.http.endpoint import ANY_OBJECT, HttpEndpoint
from psych_runtime.tools.offer import offer
from psych_runtime.tools.problem import Problem
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.messages import ToolClass, class_of
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.spec.tools import CodeTool

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def http_tool(**fields: Any) -> HttpTool:
    said = {"name": "t", "description": "Does it.", "url": "https://a.example/{n}", **fields}
    return HttpTool.model_validate(said)


def endpoint(**fields: Any) -> HttpEndpoint:
    return HttpEndpoint(http_tool(**fields), HastyClock())


@pytest.mark.parametrize(
    ("fields", "tool_class", "safe"),
    [
        pytest.param({"method": "GET"}, "read-only", True, id="a GET reads"),
        pytest.param({"method": "POST"}, "write", False, id="a POST writes"),
        pytest.param({"method": "PUT"}, "write", False, id="a PUT too"),
        pytest.param({"method": "PATCH"}, "write", False, id="and a PATCH"),
        pytest.param({"method": "DELETE"}, "destructive", False, id="a DELETE destroys"),
        pytest.param({"method": "GET", "annotations": ["write"]}, "write", True, id="unless it is stated"),
        pytest.param({"annotations": ["read-only"]}, "read-only", False, id="a POST that reads"),
        pytest.param({"annotations": ["write", "destructive"]}, "destructive", False, id="both"),
        pytest.param(
            {"method": "GET", "safe_to_retry": False}, "read-only", False, id="a GET that is not safe"
        ),
        pytest.param({"safe_to_retry": True}, "write", True, id="a POST that is"),
    ],
)
def test_class_and_safety_are_inferred_from_the_method(
    fields: dict[str, Any], tool_class: str, safe: bool
) -> None:
    definition = endpoint(**fields).definition()
    assert (class_of(definition), definition.safe_to_retry) == (ToolClass(tool_class), safe)


def test_a_model_is_told_what_the_spec_says_and_always_the_same() -> None:
    made = endpoint(input_schema=SCHEMA, interruptible=False, timeout_seconds=2.5)
    definition = made.definition()
    assert (definition.name, definition.description, definition.parameters) == ("t", "Does it.", SCHEMA)
    assert (definition.interruptible, definition.timeout_seconds) == (False, 2.5)
    assert made.definition() is definition
    assert made.offered is made.offered
    assert (made.offered.name, made.offered.source) == ("t", "http")


def test_a_schema_that_says_nothing_takes_any_object() -> None:
    made = endpoint()
    assert made.definition().parameters == ANY_OBJECT == {"type": "object", "properties": {}}
    assert made.validate(FrozenDict({"n": 1, "more": [1]})) == {"n": 1, "more": [1]}


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        pytest.param({}, "/", id="what the schema lacks"),
        pytest.param({"n": "1"}, "/n", id="what it refuses"),
        pytest.param({"n": 1, "a": {"b": 1}}, "", id="what fits it"),
    ],
)
def test_arguments_are_judged_by_the_schema_as_they_are(arguments: dict[str, Any], place: str) -> None:
    found = endpoint(input_schema=SCHEMA).validate(FrozenDict(arguments))
    if place:
        assert isinstance(found, Problem)
        assert found.kind == "invalid_arguments"
        assert found.faults[0].path == place.rstrip("/")
    else:
        assert found == arguments


def test_what_does_not_fit_its_place_is_an_invalid_argument() -> None:
    found = endpoint().validate(FrozenDict({"n": ".."}))
    assert isinstance(found, Problem)
    assert found.kind == "invalid_arguments"
    assert found.message.startswith("n: stands in the path of the URL")


def test_it_is_called_in_a_context_with_what_was_judged() -> None:
    with pytest.raises(ValueError, match="takes a ToolContext"):
        endpoint().bind({"n": 1}, None)
    with pytest.raises(ValueError, match="arguments that `validate` gave"):
        endpoint().bind({"n": ".."}, context_in(None))
    tool: AnyTool = endpoint()
    assert tool.bind_probe("idem_1", context_in(None)) is None


# --- beside functions ------------------------------------------------------------------------------------


async def look(n: int) -> int:
    """Looks."""
    return n


def granted(*tools: CodeTool | HttpTool, registry: ToolRegistry | None = None) -> GrantedTools:
    spec = AgentSpec(name="clerk", model=ModelRef(model="m"), tools=tools)
    return GrantedTools(spec, registry or ToolRegistry(), HastyClock())


def registered(**flags: Any) -> ToolRegistry:
    registry = ToolRegistry()
    registry.register(look, **flags)
    return registry


def test_an_endpoint_is_made_once_and_a_function_looked_up_each_time() -> None:
    registry = registered()
    tools = granted(CodeTool(name="look"), http_tool(), registry=registry)
    assert tools.get("t") is tools.get("t")
    assert tools.get("look") is registry.require("look")
    registry.unregister("look")
    assert tools.get("look") is None
    registry.register(look)
    assert tools.get("look") is registry.require("look")
    assert tools.get("nothing") is None


def test_what_is_not_granted_is_not_found_though_it_is_registered() -> None:
    assert granted(http_tool(), registry=registered()).get("look") is None


def test_an_endpoint_is_the_specs_own_though_a_function_has_its_name() -> None:
    tools = granted(http_tool(name="look"), registry=registered())
    assert isinstance(tools.get("look"), HttpEndpoint)
    assert [each.source for each in offer(tools, None).offered] == ["http"]


@pytest.mark.parametrize(
    ("flags", "said", "terms"),
    [
        ({}, {}, RunTerms(True, None)),
        ({"timeout_seconds": 5}, {}, RunTerms(True, 5)),
        ({}, {"timeout_seconds": 5}, RunTerms(True, 5)),
        ({"timeout_seconds": 5}, {"timeout_seconds": 9}, RunTerms(True, 5)),
        ({"timeout_seconds": 9}, {"timeout_seconds": 5}, RunTerms(True, 5)),
        ({"interruptible": False}, {}, RunTerms(False, None)),
        ({}, {"interruptible": False}, RunTerms(False, None)),
    ],
)
def test_a_function_runs_under_the_stricter_terms(
    flags: dict[str, Any], said: dict[str, Any], terms: RunTerms
) -> None:
    tools = granted(CodeTool(name="look", **said), registry=registered(**flags))
    tool = tools.get("look")
    assert tool is not None
    assert tools.terms(tool) == terms


def test_the_time_of_an_endpoint_bounds_its_tries_and_not_the_call() -> None:
    tools = granted(http_tool(interruptible=False, timeout_seconds=2.5))
    tool = tools.get("t")
    assert tool is not None
    assert tools.terms(tool) == RunTerms(False, None)

"""A registry: two doors to the same tool, names, layers, calls outside a Run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from packages.runtime.tests.tools_made import registered
from psych_runtime.tools.problem import Problem
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.errors import SchemaViolation, ToolSchemaError
from psych_runtime_core.messages import ToolClass, ToolDefinition, class_of


class Point(BaseModel):
    x: int


def draw(at: Point, size: Annotated[int, Field(ge=1)] = 3, *, name: str | None = None) -> Any:
    """Draws.

    Args:
        at: where it goes
    """
    return at, size, name


class DrawModel(BaseModel):
    """A docstring that no model sees."""

    model_config = ConfigDict(extra="forbid")
    at: Point
    size: Annotated[int, Field(ge=1)] = 3
    name: str | None = None


@dataclass
class DrawData:
    at: Point
    size: Annotated[int, Field(ge=1)] = 3
    name: str | None = None


class DrawKeys(TypedDict):
    at: Point
    size: NotRequired[Annotated[int, Field(ge=1)]]
    name: NotRequired[str | None]


# --- registering -----------------------------------------------------------------------------------------


def test_register_returns_the_function_in_every_form() -> None:
    registry = ToolRegistry()
    assert registry.register(draw) is draw
    assert registry.register(draw, name="second") is draw

    @registry.register
    def third(a: int) -> None:
        """Third."""

    @registry.register(name="fourth", annotations="read-only")
    def other(a: int) -> None:
        """Fourth."""

    assert registry.names == ("draw", "second", "third", "fourth")
    assert registry.require("third").fn is third
    assert registry.require("fourth").fn is other


@pytest.mark.parametrize("model", [DrawModel, DrawData], ids=["a model", "a dataclass"])
async def test_both_doors_give_equal_tools(model: type[Any]) -> None:
    one, two = ToolRegistry(), ToolRegistry()
    one.register(draw, annotations=["write"], timeout_seconds=5)
    two.register_dynamic("draw", draw, model, annotations="write", timeout_seconds=5)
    assert one.require("draw") == two.require("draw")
    assert one.definitions() == two.definitions()
    given: list[dict[str, Any]] = [{"at": {"x": 1}}, {"at": {"x": "1"}, "size": 2, "name": "a"}]
    for arguments in given:
        assert await one.call("draw", arguments) == await two.call("draw", arguments)
    wrong: list[dict[str, Any]] = [{}, {"at": {}}, {"at": {"x": 1}, "size": 0}, {"at": {"x": 1}, "more": 1}]
    for arguments in wrong:
        problem = one.require("draw").validate(arguments)
        assert isinstance(problem, Problem)
        assert two.require("draw").validate(arguments) == problem


async def test_what_a_typed_dict_leaves_out_is_left_to_the_function() -> None:
    registry = ToolRegistry()
    registry.register_dynamic("draw", draw, DrawKeys)
    assert await registry.call("draw", {"at": {"x": 1}}) == (Point(x=1), 3, None)
    assert registry.require("draw").parameters["required"] == ["at"]


async def test_a_dataclass_has_a_say_in_its_own_making() -> None:
    @dataclass
    class Range:
        low: int
        high: int = 10

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low is above high")
            self.low = max(self.low, 0)

    def between(low: int, high: int) -> tuple[int, int]:
        """Between."""
        return low, high

    registry = ToolRegistry()
    registry.register_dynamic("between", between, Range)
    assert await registry.call("between", {"low": -5}) == (0, 10)
    problem = registry.require("between").validate({"low": 11})
    assert isinstance(problem, Problem)
    assert problem.message == "arguments: low is above high"


async def test_a_json_schema_gives_plain_json_by_keyword() -> None:
    schema = {
        "type": "object",
        "properties": {"when": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
        "required": ["when"],
        "additionalProperties": False,
    }

    async def run(**arguments: Any) -> Any:
        return arguments

    registry = ToolRegistry()
    registry.register_dynamic("run", run, schema, description="Runs.")
    assert registry.require("run").parameters == schema
    assert await registry.call("run", {"when": "2024-01-01", "n": 2.0}) == {"when": "2024-01-01", "n": 2}
    problem = registry.require("run").validate({"n": 0, "m": 1})
    assert isinstance(problem, Problem)
    assert sorted(fault.path for fault in problem.faults) == ["", "", "/n"]


# --- definitions -----------------------------------------------------------------------------------------


def test_a_definition_says_what_was_said() -> None:
    tool = registered(
        draw, annotations=["write", "destructive"], interruptible=False, timeout_seconds=5, max_concurrency=2
    )
    assert tool.definition() == ToolDefinition(
        name="tool",
        description="A tool.",
        parameters=tool.parameters,
        annotations=frozenset({ToolClass.WRITE, ToolClass.DESTRUCTIVE}),
        interruptible=False,
        timeout_seconds=5.0,
    )
    assert tool.definition() is tool.definition()
    assert class_of(tool.definition()) is ToolClass.DESTRUCTIVE
    assert (tool.max_concurrency, tool.parallel, tool.probe) == (2, True, None)


@pytest.mark.parametrize(
    ("flags", "safe"),
    [
        ({}, False),
        ({"annotations": "write"}, False),
        ({"annotations": "read-only"}, True),
        ({"annotations": "read-only", "safe_to_retry": False}, False),
        ({"annotations": "destructive", "safe_to_retry": True}, True),
    ],
)
def test_only_read_only_tools_may_be_run_again_unless_it_is_said(flags: dict[str, Any], safe: bool) -> None:
    assert registered(draw, **flags).definition().safe_to_retry is safe


# --- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["draw", "Draw", "DRAW"])
def test_a_name_is_taken_whatever_its_case(name: str) -> None:
    registry = ToolRegistry()
    registry.register(draw)
    with pytest.raises(ToolSchemaError, match="'draw' is taken"):
        registry.register(draw, name=name)
    with pytest.raises(ToolSchemaError, match="'draw' is taken"):
        registry.layered().register(draw, name=name)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    registry = ToolRegistry()
    for name in ("search_orders", "search_users", "refund"):
        registry.register(draw, name=name)
    assert registry.get("Refund") is None
    with pytest.raises(ToolSchemaError, match="the nearest are search_orders, search_users"):
        registry.require("search_order")
    with pytest.raises(ToolSchemaError, match="none is registered"):
        ToolRegistry().require("draw")


def test_a_tool_that_is_taken_away_keeps_the_calls_under_way() -> None:
    registry = ToolRegistry()
    registry.register(draw)
    tool = registry.require("draw")
    registry.unregister("draw")
    assert "draw" not in registry
    assert tool.fn is draw
    with pytest.raises(ToolSchemaError):
        registry.unregister("draw")
    registry.register(draw)


def test_a_layer_sees_what_is_below_and_hides_nothing() -> None:
    below = ToolRegistry()
    layer = below.layered()
    layer.register(draw, name="mine")
    below.register(draw, name="theirs")
    assert layer.names == ("theirs", "mine")
    assert below.names == ("theirs",)
    assert (len(layer), "theirs" in layer, 5 in layer) == (2, True, False)
    assert [tool.name for tool in layer] == ["theirs", "mine"]
    with pytest.raises(ToolSchemaError):
        layer.unregister("theirs")
    below.register(draw, name="mine", description="Theirs too.")
    assert layer.require("mine").description == "Theirs too."
    assert layer.names == ("theirs", "mine")
    below.unregister("theirs")
    assert layer.get("theirs") is None


def test_definitions_come_in_the_order_asked_for() -> None:
    registry = ToolRegistry()
    for name in ("a", "b", "c"):
        registry.register(draw, name=name)
    assert [each.name for each in registry.definitions()] == ["a", "b", "c"]
    assert [each.name for each in registry.definitions(["c", "a"])] == ["c", "a"]
    with pytest.raises(ToolSchemaError):
        registry.definitions(["d"])


# --- calls -----------------------------------------------------------------------------------------------


async def test_a_call_outside_a_run_is_validated() -> None:
    registry = ToolRegistry()
    registry.register(draw)
    with pytest.raises(SchemaViolation) as refused:
        await registry.call("draw", {"at": {"x": "a"}})
    assert refused.value.violations[0].path == "/at/x"
    with pytest.raises(SchemaViolation):
        await registry.call("draw", {"at": Point(x=1)})
    with pytest.raises(ToolSchemaError):
        await registry.call("drew", {})


async def test_a_call_outside_a_run_raises_what_the_tool_raises() -> None:
    registry = ToolRegistry()

    @registry.register
    def leaves() -> None:
        """Leaves."""
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await registry.call("leaves", {})


# --- cost ------------------------------------------------------------------------------------------------


def test_importing_the_package_builds_no_schema() -> None:
    program = (
        "import pydantic.main as main\n"
        "built = []\n"
        "real = main.create_model\n"
        "main.create_model = lambda *a, **k: built.append(a) or real(*a, **k)\n"
        "import psych_runtime, sys\n"
        "assert not built\n"
        "assert 'psych_runtime.tools.registry' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

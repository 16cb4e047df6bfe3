"""What may be called in a turn: granted by the Spec, permitted to the tenant, registered here."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from psych_runtime.tools.granted import GrantedTools
from psych_runtime.tools.offer import offer
from psych_runtime.tools.offered import offered_tool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.clock import SystemClock
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import ToolClass, ToolDefinition
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.spec.tools import CodeTool

SPEC = AgentSpec(
    name="clerk",
    model=ModelRef(model="m"),
    tools=tuple(CodeTool(name=name) for name in ("pay", "ask", "gone")),
)


def look(question: str) -> str:
    """Looks it up."""
    return question


def registry() -> ToolRegistry:
    tools = ToolRegistry()
    tools.register(look, name="pay", annotations="destructive")
    tools.register(look, name="ask", annotations="read-only")
    tools.register(look, name="ungranted")
    return tools


def granted(tools: ToolRegistry) -> GrantedTools:
    return GrantedTools(SPEC, tools, SystemClock())


@pytest.mark.parametrize(
    ("permitted", "names"),
    [
        pytest.param(None, ["ask", "pay"], id="what is granted and registered, by name"),
        pytest.param(["p*"], ["pay"], id="of it what the tenant may have"),
        pytest.param(["ungranted", "gone"], [], id="a permit grants nothing"),
        pytest.param([], [], id="no permit at all"),
    ],
)
def test_an_offer_holds(permitted: Sequence[str] | None, names: list[str]) -> None:
    offered = offer(granted(registry()), permitted)
    assert list(offered.tools) == names
    assert [each.name for each in offered.definitions] == names
    assert [each.name for each in offered.offered] == names


def test_what_is_recorded_of_a_tool_is_its_class_and_a_digest_of_what_a_model_reads() -> None:
    tools = registry()
    ask, pay = offer(granted(tools), None).offered
    assert (ask.tool_class, pay.tool_class) == (ToolClass.READ_ONLY, ToolClass.DESTRUCTIVE)
    assert ask.digest == pay.digest
    tools.unregister("ask")
    tools.register(look, name="ask", description="Asks.")
    assert offer(granted(tools), None).offered[0].digest != ask.digest


def test_an_unchanged_tool_is_described_once() -> None:
    tools = registry()
    once = granted(tools)
    first, second = offer(once, None), offer(once, None)
    for one, other in zip(
        first.definitions + first.offered, second.definitions + second.offered, strict=True
    ):
        assert one is other


@pytest.mark.parametrize(
    "alike",
    [
        pytest.param([1, True], id="one and true"),
        pytest.param([0, False], id="none and false"),
        pytest.param([{"a": [1]}, {"a": [True]}], id="in what they hold"),
    ],
)
def test_tools_that_python_takes_for_one_have_digests_of_their_own(alike: list[Json]) -> None:
    first, second = (
        ToolDefinition(name="f", description="d", parameters={"properties": {"x": {"default": value}}})
        for value in alike
    )
    assert first == second
    assert offered_tool(first, "http") == offered_tool(first, "http")
    assert offered_tool(first, "http").digest != offered_tool(second, "http").digest

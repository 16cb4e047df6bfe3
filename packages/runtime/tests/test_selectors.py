"""Which calls a person is asked about, as a deployment says it."""

import pytest

from psych_runtime.tools.selectors import Selectors
from psych_runtime_core.messages import ToolClass, ToolDefinition


def tool(name: str, *classes: ToolClass) -> ToolDefinition:
    return ToolDefinition(name=name, description="d", parameters={}, annotations=frozenset(classes))


READ, WRITE, DESTROY = (
    tool("look", ToolClass.READ_ONLY),
    tool("order_new", ToolClass.WRITE),
    tool("order_drop", ToolClass.DESTRUCTIVE),
)
PLAIN = tool("plain")


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        pytest.param((), [], id="nothing asks nobody"),
        pytest.param(("@destructive",), ["order_drop"], id="the highest class alone"),
        pytest.param(("@write",), ["order_new", "order_drop", "plain"], id="a class takes every higher one"),
        pytest.param(("@read-only",), ["look", "order_new", "order_drop", "plain"], id="and the lowest all"),
        pytest.param(("order_*",), ["order_new", "order_drop"], id="a pattern"),
        pytest.param(("plain",), ["plain"], id="a name"),
        pytest.param(("@write", "-order_*"), ["plain"], id="what is exempt is not asked about"),
        pytest.param(("-@destructive", "*"), ["look", "order_new", "plain"], id="a class may be exempt"),
    ],
)
def test_selectors_take_tools(words: tuple[str, ...], taken: list[str]) -> None:
    selectors = Selectors(words)
    assert [one.name for one in (READ, WRITE, DESTROY, PLAIN) if selectors.take(one)] == taken


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("@destroy",), "write one of @read-only, @write, @destructive"),
        (("destructive",), "write '@destructive'"),
        (("-write",), "write '@write'"),
    ],
)
def test_a_word_that_would_ask_about_nothing_is_refused(words: tuple[str, ...], cure: str) -> None:
    with pytest.raises(ValueError, match=cure):
        Selectors(words)


def test_one_text_is_no_sequence_of_selectors() -> None:
    with pytest.raises(TypeError, match="write \\('@destructive',\\)"):
        Selectors("@destructive")

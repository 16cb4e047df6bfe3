"""What publishing finds: every code, its place, what only nearly triggers it, and the cap."""

import pytest

from packages.core.tests.specs import small
from psych_runtime_core.errors import SpecValidationError
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.validate.context import ValidationContext
from psych_runtime_core.spec.validate.nearest import MAX_COMPARED
from psych_runtime_core.spec.validate.rules import MAX_LISTED, MAX_PROMPT_BYTES
from psych_runtime_core.spec.validate.run import MAX_ISSUES, collect_issues, validate_spec

RING = small(model={"model": "a", "fallbacks": ["b", "c"]})
TOOLS = small(tools=[{"name": "pay"}, {"name": "search"}])


def found(spec: AgentSpec, context: ValidationContext | None = None) -> list[tuple[str, str]]:
    return [(issue.code, issue.path) for issue in collect_issues(spec, context)]


@pytest.mark.parametrize(
    ("spec", "context", "issues"),
    [
        pytest.param(
            RING,
            ValidationContext(known_models=["c"]),
            [("unknown_model", "/model/model"), ("unknown_model", "/model/fallbacks/0")],
            id="models that are not known",
        ),
        pytest.param(RING, ValidationContext(known_models={"a", "b", "c"}), [], id="models that are known"),
        pytest.param(RING, ValidationContext(), [], id="models of which nothing is known"),
        pytest.param(
            TOOLS,
            ValidationContext(registered_tools=["pay"]),
            [("unknown_tool", "/tools/1/name")],
            id="a tool that is not registered",
        ),
        pytest.param(
            TOOLS,
            ValidationContext(registered_tools=[]),
            [("unknown_tool", "/tools/0/name"), ("unknown_tool", "/tools/1/name")],
            id="no tool is registered",
        ),
        pytest.param(
            TOOLS, ValidationContext(registered_tools={"pay": 1, "search": 2}), [], id="registered tools"
        ),
        pytest.param(TOOLS, None, [], id="tools of which nothing is known"),
        pytest.param(
            small(model={"model": "m", "tool_choice": "pay"}, tools=[{"name": "search"}]),
            None,
            [("unknown_tool_choice", "/model/tool_choice")],
            id="a choice that is not granted",
        ),
        pytest.param(
            small(model={"model": "m", "tool_choice": "pay"}, tools=[{"name": "pay"}]),
            None,
            [],
            id="a choice that is granted",
        ),
        pytest.param(small(model={"model": "m", "tool_choice": "required"}), None, [], id="a word"),
        pytest.param(
            small(instructions="é" * (MAX_PROMPT_BYTES // 2 + 1)),
            None,
            [("too_large", "/instructions")],
            id="a prompt over its bytes",
        ),
        pytest.param(small(instructions="é" * (MAX_PROMPT_BYTES // 2)), None, [], id="a prompt of its bytes"),
    ],
)
def test_publishing_finds(
    spec: AgentSpec, context: ValidationContext | None, issues: list[tuple[str, str]]
) -> None:
    assert found(spec, context) == issues


def test_all_issues_come_in_document_order() -> None:
    spec = small(model={"model": "m", "tool_choice": "nothing"}, tools=[{"name": "a"}, {"name": "b"}])
    assert found(spec, ValidationContext(registered_tools=(), known_models=())) == [
        ("unknown_model", "/model/model"),
        ("unknown_tool_choice", "/model/tool_choice"),
        ("unknown_tool", "/tools/0/name"),
        ("unknown_tool", "/tools/1/name"),
    ]


def test_the_nearest_known_names_are_told() -> None:
    context = ValidationContext(known_models=["small", "smart", "huge"])
    [issue] = collect_issues(small(model={"model": "smarl"}), context)
    assert issue.message == "there is no model 'smarl'; did you mean 'smart' or 'small'?"


def test_of_nothing_known_that_is_told() -> None:
    context = ValidationContext(registered_tools=[], known_models=[])
    model, tool = collect_issues(small(tools=[{"name": "search"}]), context)
    assert model.message == "there is no model 'm'; there are none"
    assert tool.message == (
        "there is no registered tool 'search'; none is registered. Pass it in session(tools=[…])"
    )


def test_the_registered_tools_are_told_and_the_nearest_ones_first() -> None:
    context = ValidationContext(registered_tools=["search_web", "serach", "pay"])
    [issue] = collect_issues(small(tools=[{"name": "search"}]), context)
    assert issue.message == (
        "there is no registered tool 'search'; registered: serach, search_web, pay."
        " Pass it in session(tools=[…])"
    )


def test_a_crowd_of_names_is_not_compared() -> None:
    crowd = [f"tool_{n:03}" for n in range(MAX_COMPARED + 1)]
    [issue] = collect_issues(small(tools=[{"name": "tool"}]), ValidationContext(registered_tools=crowd))
    listed = ", ".join(crowd[:MAX_LISTED])
    assert issue.message == (
        f"there is no registered tool 'tool'; registered: {listed}, …. Pass it in session(tools=[…])"
    )


@pytest.mark.parametrize(("count", "reported"), [(MAX_ISSUES, MAX_ISSUES), (MAX_ISSUES + 1, MAX_ISSUES + 1)])
def test_past_the_cap_one_issue_says_so(count: int, reported: int) -> None:
    spec = small(tools=[{"name": f"t{n}"} for n in range(count)])
    issues = collect_issues(spec, ValidationContext(registered_tools=()))
    assert len(issues) == reported
    assert (issues[-1].code == "too_many") is (count > MAX_ISSUES)


def test_an_invalid_spec_raises_with_every_issue() -> None:
    context = ValidationContext(registered_tools=["pay"], known_models=[])
    with pytest.raises(SpecValidationError, match="2 issues") as error:
        validate_spec(TOOLS, context)
    assert error.value.issues == collect_issues(TOOLS, context)
    validate_spec(TOOLS, ValidationContext(registered_tools=["pay", "search"]))

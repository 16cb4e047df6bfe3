"""From a signature to a schema: names, texts, defaults, leniency, and how the function is called."""

from functools import partial
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import AfterValidator, BaseModel, Field

from packages.runtime.tests.tools_made import called, registered
from psych_runtime.tools.problem import MAX_FAULTS, Problem
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.jsonvalue import thaw


def properties(fn: Any) -> dict[str, Any]:
    schema: dict[str, Any] = thaw(registered(fn).parameters)
    return cast("dict[str, Any]", schema["properties"])


def problem(fn: Any, arguments: dict[str, Any]) -> Problem:
    found = registered(fn).validate(arguments)
    assert isinstance(found, Problem)
    return found


# --- names -----------------------------------------------------------------------------------------------


NAMES = (
    "self cls model_config model_fields schema json copy dict validate _x __y p0 fn func args kwargs context"
    " type id größe 名前"
)


@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.parametrize("kind", ["{name}: int", "{name}: int, /", "*, {name}: int", "{name}: int = 1"])
async def test_a_parameter_may_have_any_name(name: str, kind: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def tool({kind.format(name=name)}): return {name}", names)
    assert list(properties(names["tool"])) == [name]
    assert await called(names["tool"], {name: 7}) == 7


async def test_an_alias_is_the_name_a_model_uses() -> None:
    def tool(from_: Annotated[str, Field(alias="from")], p0: int = Field(5, alias="p1")) -> str:
        return f"{from_}{p0}"

    assert list(properties(tool)) == ["from", "p1"]
    assert await called(tool, {"from": "a"}) == "a5"
    assert problem(tool, {"from_": "a"}).message == "from: must be given\nfrom_: there is no such argument"


async def test_parameters_are_passed_as_they_are_declared() -> None:
    def tool(a: int, b: int = 2, /, c: int = 3, *, d: int, e: int = 5) -> list[int]:
        return [a, b, c, d, e]

    assert list(properties(tool)) == ["a", "b", "c", "d", "e"]
    assert registered(tool).parameters["required"] == ["a", "d"]
    assert await called(tool, {"a": 1, "d": 4}) == [1, 2, 3, 4, 5]


async def test_what_a_partial_has_filled_in_no_model_may_change() -> None:
    def search(tenant: str, query: str, limit: int = 10) -> str:
        return f"{tenant} {query} {limit}"

    tool = partial(search, "acme", limit=3)
    assert list(properties(tool)) == ["query"]
    assert await called(tool, {"query": "x"}) == "acme x 3"
    assert "limit: there is no such argument" in problem(tool, {"query": "x", "limit": 99}).message


# --- texts -----------------------------------------------------------------------------------------------


def test_texts_come_from_the_nearest_place() -> None:
    def tool(
        a: Annotated[int, Field(description="of the field")],
        b: Annotated[int, "of the hint"],
        c: int,
        d: int,
        e: Annotated[int, "of the hint"] = Field(1, description="of the default"),
    ) -> None:
        """The first line
        and the second.

        A second paragraph, which nobody reads.

        Args:
            a: of the docstring
            b: of the docstring
            c (int): of the docstring,
                on two lines

                and a third: with a colon
            d: of the docstring
        Returns:
            e: nothing
        """

    assert registered(tool, description=None).description == "The first line and the second."
    assert {name: each["description"] for name, each in properties(tool).items()} == {
        "a": "of the field",
        "b": "of the hint",
        "c": "of the docstring, on two lines and a third: with a colon",
        "d": "of the docstring",
        "e": "of the default",
    }


def test_a_docstring_that_begins_with_args_says_nothing_of_the_tool() -> None:
    def tool(a: int) -> None:
        """
        Args:
            a: a number
        """

    assert properties(tool)["a"]["description"] == "a number"
    assert registered(tool, description="Said.").description == "Said."


# --- defaults --------------------------------------------------------------------------------------------


class Options(BaseModel):
    tags: list[str] = []


async def test_a_default_is_given_afresh_for_each_call() -> None:
    def tool(items: list[int] = [], options: Options = Options()) -> int:  # noqa: B006, B008 - the very point
        items.append(1)
        options.tags.append("x")
        return len(items) + len(options.tags)

    registry = ToolRegistry()
    registry.register(tool, description="A tool.")
    assert [await registry.call("tool", {}) for _ in range(3)] == [2, 2, 2]


def test_a_default_stands_in_the_schema_when_json_has_a_form_for_it() -> None:
    def tool(a: int = 3, b: Literal["x"] | None = None, c: Any = object, d: Options = Options()) -> None:  # noqa: B008 - the very point
        pass

    assert [each.get("default", "absent") for each in properties(tool).values()] == [
        3,
        None,
        "absent",
        {"tags": []},
    ]


# --- leniency --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "sent", "got"),
    [
        (int, "5", 5),
        (int, 5.0, 5),
        (float, "1e3", 1000.0),
        (bool, "false", False),
        (bool, 0, False),
        (list[int], ["1"], [1]),
    ],
)
async def test_what_a_model_nearly_got_right_is_read(hint: Any, sent: Any, got: Any) -> None:
    def tool(given: Any) -> Any:
        return given

    tool.__annotations__["given"] = hint
    assert await called(tool, {"given": sent}) == got


@pytest.mark.parametrize(
    ("hint", "sent"),
    [
        (int, 5.5),
        (int, ""),
        (int, None),
        (str, 5),
        (bool, 2),
        (float, "nan"),
        (float, "Infinity"),
        (list[float], ["-inf"]),
        (list[int], "1,2"),
        (bytes, "a b"),
        (str, "\ud800"),
        (dict[str, int], {"a": {"b": 1}}),
    ],
)
def test_what_would_be_a_guess_is_refused(hint: Any, sent: Any) -> None:
    def tool(given: Any) -> None:
        pass

    tool.__annotations__["given"] = hint
    assert problem(tool, {"given": sent}).message.startswith("given")


# --- faults ----------------------------------------------------------------------------------------------


class Address(BaseModel):
    zip: int


def send(to: list[Address], mode: Literal["fast", "slow"], copy: int | Address = 0) -> None:
    pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"mode": "fast"}, "to: must be given", id="a missing argument"),
        pytest.param(
            {"to": [{"zip": 1}, {}], "mode": "fast"}, "to/1/zip: must be given", id="a missing part"
        ),
        pytest.param({"to": [3], "mode": "fast"}, "to/0: must be an object", id="no class name"),
        pytest.param({"to": [], "mode": "mid"}, "mode: must be 'fast' or 'slow'", id="a choice"),
        pytest.param({"to": [], "mode": "slow", "cc": 1}, "cc: there is no such argument", id="one too many"),
        pytest.param(
            {"to": [], "mode": "slow", "copy": {"zip": "x"}},
            "copy: must be a valid integer\n"
            "copy/zip: must be a valid integer, unable to parse string as an integer",
            id="each member of a union",
        ),
    ],
)
def test_faults_say_which_field_and_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    assert problem(send, arguments).message == message


def test_at_most_twenty_faults_are_listed_and_none_is_endless() -> None:
    found = problem(send, {"mode": "x" * 10_000, "to": [{"zip": "x"}] * 50, "y" * 10_000: 1})
    lines = found.message.splitlines()
    assert len(lines) == MAX_FAULTS
    assert max(map(len, lines)) <= 400


def test_a_validator_that_breaks_is_a_problem_and_no_exception() -> None:
    def broken(value: int) -> int:
        raise KeyError(value)

    def tool(given: Annotated[int, AfterValidator(broken)]) -> None:
        pass

    assert problem(tool, {"given": 1}).message == "arguments: they could not be checked: KeyError"

"""What cannot be a tool is refused when it is registered, with the line to write instead."""

import functools
import math
import sys
import typing
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from packages.runtime.tests.tools_made import registered
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.errors import ToolSchemaError

T = TypeVar("T")


class Plain:
    """A class that no JSON makes."""


class Box(BaseModel, Generic[T]):
    content: T


class OldDict(typing.TypedDict):
    a: int


@dataclass
class HoldsPlain:
    plain: Plain


@dataclass
class HoldsIterable:
    items: Iterable[int]


def takes(hint: Any, *default: Any) -> Callable[..., object]:
    """A function with one parameter `given`."""

    def tool(given: Any) -> None: ...

    tool.__annotations__["given"] = hint
    tool.__defaults__ = default or None
    return tool


def refusal(fn: Any, **keywords: Any) -> ToolSchemaError:
    with pytest.raises(ToolSchemaError) as refused:
        registered(fn, **keywords)
    return refused.value


def fine(a: int) -> None: ...


def of_b(b: Any) -> None: ...


def of_a_and_b(a: Any, b: Any) -> None: ...


def of_plain(plain: Any) -> None: ...


# --- types -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [False, True], ids=["alone", "in a list"])
@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (Callable[[int], int], "by a name, as in `mode: Literal"),
        (Callable, "by a name, as in `mode: Literal"),
        (object, "write `given: Any`"),
        (T, "write the type that is meant in place of ~T"),
        (Box, "say of what, as in `given: Box[int]`"),
        (Iterator[int], "write `list[…]`"),
        (Iterable[int], "write `list[…]`"),
        (Generator[int, None, None], "write `list[…]`"),
        (range, "write two parameters, `start: int, stop: int`"),
        (complex, "write two parameters, `real: float, imag: float`"),
        (Plain, "write a dataclass or a pydantic model"),
        (type[int], "write a dataclass or a pydantic model"),
        (HoldsPlain, "write a dataclass or a pydantic model"),
        (HoldsIterable, "an Iterable; write list"),
        (int | Callable[[], int], "by a name, as in `mode: Literal"),
        (int | Plain, "write a dataclass or a pydantic model"),
        (Annotated[str, Field(pattern="(?=a)")], "no schema can be made of"),
    ],
)
def test_a_type_that_no_json_fills_is_refused(hint: Any, reason: str, nested: bool) -> None:
    error = refusal(takes(list[hint] if nested else hint))
    assert (error.tool, error.parameter) == ("tool", "given")
    assert reason in error.reason
    assert "errors.pydantic.dev" not in str(error)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads the keys of typing.TypedDict there")
def test_a_typed_dict_of_typing_is_refused_on_python_3_11() -> None:
    assert refusal(takes(OldDict)).reason == (
        "on Python 3.11 write `from typing_extensions import TypedDict`"
    )
    with pytest.raises(ToolSchemaError, match="from typing_extensions import TypedDict"):
        ToolRegistry().register_dynamic("tool", fine, OldDict, description="A tool.")


def test_the_parameter_to_blame_is_named() -> None:
    def tool(a: int, b: list[str], c: Plain, d: range) -> None: ...

    assert refusal(tool).parameter == "d"
    tool.__annotations__["d"] = int
    assert refusal(tool).parameter == "c"


# --- parameters ------------------------------------------------------------------------------------------


def test_every_parameter_needs_a_hint() -> None:
    names: dict[str, Any] = {}
    exec("def tool(a: int, b): ...", names)
    error = refusal(names["tool"])
    assert (error.parameter, error.reason) == ("b", "it has no type hint: write `b: str`, or what it is")


def test_a_hint_must_resolve_at_the_top_of_its_module() -> None:
    def tool(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821 - the very point

    error = refusal(tool)
    assert error.parameter == "a"
    assert f"must live at the top of {__name__}, outside functions and `if TYPE_CHECKING:`" in error.reason


def test_a_hint_that_does_not_resolve_inside_a_type_is_told_too() -> None:
    class Late(BaseModel):
        inside: "Nowhere"  # type: ignore[name-defined]  # noqa: F821 - the very point

    error = refusal(takes(Late))
    assert error.parameter == "given"
    assert "a type inside Late does not resolve" in error.reason


@pytest.mark.parametrize(
    ("source", "parameter", "line"),
    [
        ("*rest: int", "rest", "`rest: list[str]`"),
        ("**more: int", "more", "`more: dict[str, str]`"),
        ("a: ToolContext, b: ToolContext", "b", "take one away"),
        ("a: int, b: 'ToolContext', c: ToolContext | None = None", "c", "take one away"),
        ("a: list[ToolContext]", "a", "has no JSON form"),
        ("a: Annotated[int, Field(alias='x')], x: int", "x", "another parameter is called 'x' too"),
        ("a: Annotated[int, Field(validation_alias=Alias)]", "a", "`Field(alias='a')`"),
    ],
)
def test_parameters_that_no_model_can_fill_are_refused(source: str, parameter: str, line: str) -> None:
    names: dict[str, Any] = {"Alias": AliasChoices("x", "y"), "Annotated": Annotated, "Field": Field}
    names["ToolContext"] = ToolContext
    exec(f"def tool({source}): ...", names)
    error = refusal(names["tool"])
    assert error.parameter == parameter
    assert line in error.reason


@pytest.mark.parametrize(
    ("hint", "default", "line"),
    [
        (int, None, "write `| None` behind its type"),
        (int, "many", "write one that fits"),
        (list[int], [None], "write one that fits"),
        (Annotated[int, Field(ge=3)], 2, "write one that fits"),
        (float, math.nan, "write one that fits"),
        (int, Field(default="x"), "write one that fits"),
    ],
)
def test_a_default_that_its_own_type_refuses_is_refused(hint: Any, default: Any, line: str) -> None:
    error = refusal(takes(hint, default))
    assert error.parameter == "given"
    assert line in error.reason


# --- functions -------------------------------------------------------------------------------------------


def yields() -> Iterator[int]:
    yield 1


async def yields_async() -> AsyncIterator[int]:
    yield 1


class Methods:
    @classmethod
    def fine(cls, a: int) -> None: ...


@pytest.mark.parametrize(
    ("fn", "line"),
    [
        pytest.param(yields, "`return items`", id="a generator"),
        pytest.param(yields_async, "`return items`", id="an async generator"),
        pytest.param(functools.partial(yields), "`return items`", id="a partial of a generator"),
        pytest.param(Plain, "write a function that returns Plain(…)", id="a class"),
        pytest.param(vars(Methods)["fine"], "put the decorator below @classmethod", id="a classmethod"),
        pytest.param(5, "cannot be called", id="no function"),
        pytest.param(getattr, "wrap it in a function with type hints", id="a builtin without a signature"),
    ],
)
def test_what_is_no_function_is_refused(fn: Any, line: str) -> None:
    assert line in refusal(fn).reason


# --- names and descriptions ------------------------------------------------------------------------------


@pytest.mark.parametrize("fn", [lambda: None, functools.partial(fine)], ids=["a lambda", "a partial"])
def test_a_function_without_a_name_is_refused(fn: Any) -> None:
    assert "write `register(…, name='search')`" in refusal(fn, name=None).reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, "must match") for name in ("", "a b", "a.b", "a/b", "größe", "🙂", "1a", "a" * 65, "a\n")),
        ("load_skill", "is a tool of the runtime's own"),
    ],
)
def test_a_name_that_no_spec_grants_is_refused(name: str, reason: str) -> None:
    error = refusal(fine, name=name)
    assert error.tool == name
    assert reason in error.reason


def test_a_tool_that_nothing_is_said_of_is_refused() -> None:
    assert "write a docstring, or `description=`" in refusal(fine, description=None).reason
    assert "write a docstring, or `description=`" in refusal(fine, description=" \n").reason


def test_a_description_has_an_end() -> None:
    assert len(registered(fine, description="x" * 4_096).description) == 4_096
    assert "the limit is 4096" in refusal(fine, description="x" * 4_097).reason


# --- flags -----------------------------------------------------------------------------------------------


def probe_of_nothing() -> str:
    return "done"


async def probe_without_a_key() -> str:
    return "done"


async def probe_of_two(key: str, more: str) -> str:
    return "done"


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ({"annotations": "readonly"}, "write some of 'read-only', 'write', 'destructive'"),
        ({"annotations": ["read-only", "write"]}, "write one of the two"),
        ({"annotations": ["read-only", "destructive"]}, "write one of the two"),
        ({"safe_to_retry": "yes"}, "`safe_to_retry=True` or `safe_to_retry=False`"),
        ({"interruptible": None}, "`interruptible=True`"),
        ({"parallel": 1}, "`parallel=True`"),
        ({"strict": "no"}, "`strict=True`"),
        *(({"timeout_seconds": it}, "over 0, at most 86400") for it in (0, -1, 86_401, math.nan, True, "5")),
        *(({"max_concurrency": it}, "from 1 to 10000") for it in (0, 10_001, 1.5, True)),
        ({"probe": probe_of_nothing}, "write `async def probe(key: str) -> str`"),
        ({"probe": probe_without_a_key}, "write `async def probe(key: str) -> str`"),
        ({"probe": probe_of_two}, "write `async def probe(key: str) -> str`"),
        ({"probe": "done"}, "cannot be called"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value), None),
)
def test_a_flag_out_of_bounds_is_refused(flags: dict[str, Any], line: str) -> None:
    assert line in refusal(fine, **flags).reason


def test_an_unknown_flag_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="'timeout'; the flags are annotations"):
        registered(fine, timeout=5)


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int | None


class Open(BaseModel):
    a: int


@pytest.mark.parametrize(
    ("hint", "default", "line"),
    [
        (int, (5,), "'given' is optional"),
        (dict[str, int], (), "an object in 'given' is open"),
        (list[Open], (), "an object in 'Open' is open"),
        (Any, (), "any value fits in 'given'"),
        (list[Any], (), "any value fits in 'given'"),
    ],
)
def test_a_schema_that_no_provider_enforces_cannot_be_strict(hint: Any, default: Any, line: str) -> None:
    assert line in refusal(takes(hint, *default), strict=True).reason
    assert not registered(takes(hint, *default)).strict


def test_a_closed_schema_may_be_strict() -> None:
    def tool(a: int, b: Closed, c: list[Closed] | None) -> None: ...

    assert registered(tool, strict=True).definition().strict


# --- dynamic tools ---------------------------------------------------------------------------------------


class Keys(TypedDict):
    a: int


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("model", "fn", "line"),
    [
        pytest.param(Open, fine, "`model_config = ConfigDict(extra='forbid')`", id="an open model"),
        pytest.param(int, fine, "give a pydantic model, a dataclass", id="a type"),
        pytest.param({"type": "array"}, fine, "its JSON Schema cannot be used", id="a schema of no object"),
        pytest.param({"type": "objekt"}, fine, "its JSON Schema cannot be used", id="no schema"),
        pytest.param({**OBJECT, "default": {1}}, fine, "its JSON Schema cannot be used", id="no JSON"),
        pytest.param(
            {**OBJECT, "properties": {"a": {"pattern": "(?=a)"}}}, fine, "cannot be used", id="a slow pattern"
        ),
        pytest.param({"type": "object"}, fine, '`"additionalProperties": false`', id="an open schema"),
        pytest.param(OBJECT, of_b, "give its parameters the names of the fields", id="another name"),
        pytest.param(OBJECT, fine, "give its parameters the names", id="none for what may be missing"),
        pytest.param(Keys, of_a_and_b, "give its parameters the names of the fields", id="one too many"),
        pytest.param(HoldsPlain, of_plain, "write a dataclass or a pydantic model", id="a field"),
        pytest.param(Closed, yields, "`return items`", id="a generator"),
    ],
)
def test_a_dynamic_tool_is_refused_alike(model: Any, fn: Any, line: str) -> None:
    with pytest.raises(ToolSchemaError) as refused:
        ToolRegistry().register_dynamic("tool", fn, model, description="A tool.")
    assert line in refused.value.reason

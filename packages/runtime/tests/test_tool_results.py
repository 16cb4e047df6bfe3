"""Any value is a result, or an error that says the tool did run, what stood in the way, and where."""

from __future__ import annotations

import enum
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, RootModel, SecretStr, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from psych_runtime.tools import convert as convert_module
from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.frozen import MAX_DEPTH
from psych_runtime_core.jsonvalue import FrozenDict, FrozenList, decode_json, encode_json
from psych_runtime_core.records.facts import FailureKind

ITEM: dict[str, object] = {"name": "a", "colours": [], "parent": None}
NAIVE = datetime.fromisoformat("2024-02-29T12:00:00.000005")
ID = UUID("12345678-1234-5678-1234-567812345678")


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 2


class Word(enum.StrEnum):
    YES = "yes"


@dataclass
class Item:
    name: str
    colours: set[Word] = field(default_factory=set[Word])
    parent: Item | None = None


class Pair(NamedTuple):
    left: int
    right: date


class Keys(TypedDict):
    a: int


class Model(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)
    url: HttpUrl
    secret: SecretStr = SecretStr("hidden")
    item: Item | None = None
    renamed: int = Field(1, alias="other")
    when: date = date(2024, 2, 29)

    @field_serializer("when")
    def short(self, when: date) -> str:
        return when.strftime("%d.%m.")


@pydantic_dataclass
class Strict:
    url: HttpUrl


class Text(str):
    """Text of somebody's own class."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"


RESULTS: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (2**80, 2**80),
    (-(10**4_299), -(10**4_299)),
    (1.5, 1.5),
    (2.0, 2),
    (-0.0, 0),
    ("", ""),
    ("ü🙂\0\n\ud800", "ü🙂\0\n\ud800"),
    (Text("mine"), "mine"),
    ([1, [2]], [1, [2]]),
    ((1, (2,)), [1, [2]]),
    (deque([1, 2]), [1, 2]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a", "B"}), ["B", "a", "b"]),
    ({(1, "b"), (1, "a")}, [[1, "a"], [1, "b"]]),
    ({"b": 1, "a": {}}, {"a": {}, "b": 1}),
    (OrderedDict(a=1), {"a": 1}),
    (defaultdict(list, a=[1]), {"a": [1]}),
    (MappingProxyType({"a": 1}), {"a": 1}),
    (Keys(a=1), {"a": 1}),
    (Item("a", {Word.YES}), {"name": "a", "colours": ["yes"], "parent": None}),
    ([Item("a", parent=Item("b"))], [{"name": "a", "colours": [], "parent": {**ITEM, "name": "b"}}]),
    (Pair(1, date(2024, 2, 29)), {"left": 1, "right": "2024-02-29"}),
    (Colour.RED, "red"),
    (Colour.PAIR, [1, 2]),
    (Level.HIGH, 2),
    (Word.YES, "yes"),
    (
        Model(url=HttpUrl("https://example.com"), item=Item("a"), other=2),
        {
            "url": "https://example.com/",
            "secret": "**********",
            "item": ITEM,
            "other": 2,
            "when": "29.02.",
        },
    ),
    (Strict(url=HttpUrl("https://example.com")), {"url": "https://example.com/"}),
    (RootModel[int](5), 5),
    (RootModel[list[Level]]([Level.HIGH]), [2]),
    (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00Z"),
    (NAIVE, "2024-02-29T12:00:00.000005"),
    (datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=2))), "2024-02-29T00:00:00+02:00"),
    (date(2024, 2, 29), "2024-02-29"),
    (time(12, 30), "12:30:00"),
    (timedelta(hours=1, minutes=30), "PT1H30M"),
    (Decimal("1.10"), "1.10"),
    (ID, str(ID)),
    (Path("/tmp/a b"), "/tmp/a b"),
    (PurePosixPath("a"), "a"),
    (Fraction(1, 3), "1/3"),
]


@pytest.mark.parametrize(("result", "value"), RESULTS)
def test_a_value_has_its_json(result: Any, value: Any) -> None:
    converted = convert(result)
    assert isinstance(converted, Converted)
    assert converted.value == value
    assert type(converted.value) in (type(value), FrozenDict, FrozenList)
    assert converted.encoded == encode_json(value)
    assert decode_json(converted.encoded) == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a\0\ud800", "a\0\ud800"),
        (Text("mine"), "mine"),
        (1, "1"),
        (2**80, str(2**80)),
        (1.5, "1.5"),
        (2.0, "2"),
        (True, "true"),
        (Colour.RED, "red"),
        (Level.HIGH, "2"),
        (ID, str(ID)),
        (date(2024, 2, 29), "2024-02-29"),
        (NAIVE, "2024-02-29T12:00:00.000005"),
    ],
)
def test_a_key_is_its_text(key: Any, text: str) -> None:
    converted = convert({key: 0})
    assert isinstance(converted, Converted)
    assert list(converted.value) == [text]  # type: ignore[arg-type]  # it is an object


# --- what has none -----------------------------------------------------------------------------------


class Opaque:
    """Nothing that JSON knows."""


class Raises(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise KeyError(key)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")


class BrokenModel(BaseModel):
    a: int = 1

    @field_serializer("a")
    def broken(self, a: int) -> int:
        raise ZeroDivisionError


def cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append({"next": ring})
    return ring


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> None: ...


class Leaves(list[int]):
    def __iter__(self) -> Iterator[int]:
        raise SystemExit(1)


class Unbound:
    """As lazy proxies of web frameworks are outside of a request."""

    @property
    def __class__(self) -> type:
        raise RuntimeError("there is no request")

    @__class__.setter
    def __class__(self, value: type) -> None: ...


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(lambda: float("nan"), "result: nan has no JSON form", id="NaN"),
        pytest.param(lambda: {"a": [1, float("inf")]}, "result['a'][1]: inf has no JSON form", id="infinity"),
        pytest.param(lambda: RootModel[float](float("nan")), "result: nan has no", id="NaN in a model"),
        pytest.param(lambda: {float("nan")}, "result: nan has no JSON form", id="NaN in a set"),
        pytest.param(lambda: Decimal("NaN"), "result: NaN has no JSON form", id="a Decimal NaN"),
        pytest.param(lambda: 10**4_300, "an int of more than 4,300 digits", id="an endless int"),
        pytest.param(
            lambda: {"a": b"ab"},
            "result['a']: a value of type bytes stands inside a result: return it alone, or as a File in",
            id="bytes within",
        ),
        pytest.param(
            lambda: [File("a", "text/plain", b"")],
            "result[0]: a value of type File stands inside a result",
            id="a file within",
        ),
        pytest.param(
            lambda: ToolOutput(ToolOutput()),
            "result: a value of type ToolOutput stands inside a result",
            id="an output within",
        ),
        pytest.param(
            lambda: [Opaque()], "result[0]: a value of type Opaque has no JSON form", id="an object"
        ),
        pytest.param(lambda: Opaque, "result: the class Opaque has no JSON form", id="a class"),
        pytest.param(
            lambda: {"a": ValueError("x")},
            "result['a']: a value of type ValueError has no",
            id="an exception",
        ),
        pytest.param(generator, "result: a value of type generator has no JSON form", id="a generator"),
        pytest.param(lambda: range(3), "result: a value of type range has no JSON form", id="a range"),
        pytest.param(lambda: 1j, "result: a value of type complex has no JSON form", id="a complex number"),
        pytest.param(
            lambda: print, "result: a value of type builtin_function_or_method has no", id="a function"
        ),
        pytest.param(lambda: {(1, 2): 3}, "result: a key of type tuple", id="a tuple as key"),
        pytest.param(lambda: {"a": {None: 3}}, "result['a']: a key of type NoneType", id="None as key"),
        pytest.param(lambda: {float("nan"): 3}, "result: nan has no JSON form", id="NaN as key"),
        pytest.param(lambda: {1: 0, "1": 0}, "result: two keys that are both '1' as text", id="twin keys"),
        pytest.param(cycle, "a container that holds itself", id="a cycle"),
        pytest.param(lambda: deep(MAX_DEPTH + 1), "deeper than 128 levels", id="one level too deep"),
        pytest.param(lambda: deep(3_000), "deeper than 128 levels", id="3,000 deep"),
        pytest.param(
            lambda: [Raises()],
            "result[0]: a value of type Raises that raises RuntimeError when read",
            id="a mapping",
        ),
        pytest.param(
            BrokenModel, "result: a value of type BrokenModel that raises", id="a serializer that raises"
        ),
        pytest.param(
            lambda: Leaves([1]),
            "result: a value of type Leaves that raises SystemExit",
            id="a list that exits",
        ),
        pytest.param(
            lambda: {"a": Unbound()},
            "result['a']: a value of type Unbound that raises RuntimeError when read",
            id="a stand-in for nothing",
        ),
    ],
)
def test_what_has_no_json_form_is_named_with_its_place(make: Callable[[], Any], said: str) -> None:
    problem = convert(make())
    assert isinstance(problem, Problem)
    assert problem.kind is FailureKind.RESULT_NOT_SERIALISABLE
    assert said in problem.message
    assert "The tool did run" in problem.message


def test_a_result_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert_module, "MAX_ENCODED_BYTES", 10)
    assert isinstance(convert("x" * 8), Converted)
    problem = convert("x" * 9)
    assert isinstance(problem, Problem)
    assert problem.kind is FailureKind.RESULT_TOO_LARGE
    assert problem.message == wording.result_too_large(10)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.decimals(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.booleans() | st.dates(), inner)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_no_value_raises_and_every_result_is_its_bytes(value: Any) -> None:
    converted = convert(value)
    if isinstance(converted, Converted):
        assert json.loads(converted.encoded) == converted.value
        assert encode_json(converted.value) == converted.encoded
        assert convert(converted.value) == replace(converted, files=())
    else:
        assert converted.kind is FailureKind.RESULT_NOT_SERIALISABLE

"""Every kind of type that a parameter may have: what is sent, what the function gets, what is refused."""

import enum
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import (
    Any,
    Generic,
    NamedTuple,
    NewType,
    NotRequired,
    TypeVar,
)
from uuid import UUID

from pydantic import BaseModel
from typing_extensions import TypeAliasType, TypedDict

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(BaseModel):
    x: int
    y: int = 0


class Tree(BaseModel):
    name: str
    branches: list["Tree"] = []


class Box(BaseModel, Generic[T]):
    content: T


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: Colour = Colour.RED


class Pair(NamedTuple):
    left: int
    right: date


class Filter(TypedDict):
    field: str
    since: NotRequired[date]


class Loose(TypedDict, total=False):
    limit: int


UserId = NewType("UserId", int)
Names = TypeAliasType("Names", list[str])
Rows = TypeAliasType("Rows", "list[int | Rows]")

DAY, NOON = date(2024, 2, 29), datetime(2024, 2, 29, 12, tzinfo=UTC)
ID = UUID("12345678-1234-5678-1234-567812345678")


@dataclass(frozen=True)
class Case:
    """`hint` as its author writes it; `sent` arrives as `got`; `refused` fits neither type nor schema."""

    hint: str
    sent: Any
    got: Any
    refused: Any = None
    refuses: bool = True


CASES = (
    Case("str", "a\0b ü", "a\0b ü", 5),
    Case("int", 2**80, 2**80, "many"),
    Case("float", 1.5, 1.5, "much"),
    Case("bool", True, True, "perhaps"),
    Case("None", None, None, 0),
    Case("Any", {"a": [1, None]}, {"a": [1, None]}, refuses=False),
    Case("Literal['a', 1]", 1, 1, "b"),
    Case("int | str", "5", "5", [5]),
    Case("Optional[int]", None, None, [5]),
    Case("Union[Point, Colour]", "blue", Colour.BLUE, 7),
    Case("Point", {"x": 1}, Point(x=1), {"y": 1}),
    Case("Tree", {"name": "a", "branches": [{"name": "b"}]}, Tree(name="a", branches=[Tree(name="b")]), {}),
    Case("Box[Point]", {"content": {"x": 2}}, Box[Point](content=Point(x=2)), {"content": 2}),
    Case("Money", {"amount": "1.10", "currency": "blue"}, Money(Decimal("1.10"), Colour.BLUE), {"extra": 1}),
    Case("Pair", [1, "2024-02-29"], Pair(1, DAY), [1, 2, 3]),
    Case(
        "Filter", {"field": "a", "since": "2024-02-29"}, {"field": "a", "since": DAY}, {"since": "2024-02-29"}
    ),
    Case("Loose", {}, {}, {"limits": 5}),
    Case("Colour", "red", Colour.RED, "green"),
    Case("Level", 2, Level.HIGH, 3),
    Case("list[int]", [1, 2], [1, 2], [None]),
    Case("list", [1, "a"], [1, "a"], {"a": 1}),
    Case("tuple[int, str]", [1, "a"], (1, "a"), [1]),
    Case("tuple[int, ...]", [1, 2, 3], (1, 2, 3), ["a"]),
    Case("set[Colour]", ["red", "blue"], {Colour.RED, Colour.BLUE}, ["green"]),
    Case("frozenset[int]", [1, 2], frozenset({1, 2}), 1),
    Case("deque[int]", [1, 2], deque([1, 2]), 1),
    Case("dict[str, Point]", {"a": {"x": 1}}, {"a": Point(x=1)}, {"a": 1}),
    Case("Sequence[int]", [1, 2], [1, 2], 1),
    Case("Mapping[str, int]", {"a": 1}, {"a": 1}, [1]),
    Case("datetime", "2024-02-29T12:00:00Z", NOON, "noon", refuses=False),
    Case("datetime", "2024-02-29T12:00:00", NOON.replace(tzinfo=None), refuses=False),
    Case("date", "2024-02-29", DAY, [2024]),
    Case("time", "12:30:00", time(12, 30), [12]),
    Case("timedelta", "PT1H30M", timedelta(minutes=90), [90]),
    Case("UUID", str(ID), ID, [1]),
    Case("Decimal", 0.1, Decimal("0.1"), [1]),
    Case("Decimal", "12345678901234567890.12345", Decimal("12345678901234567890.12345"), {}),
    Case("Path", "/tmp/a b", Path("/tmp/a b"), 5),
    Case("bytes", "aGk=", b"hi", 5),
    Case("bytes", "+/+/", b"\xfb\xff\xbf", 5),
    Case("Annotated[int, Field(ge=3)]", 3, 3, 2),
    Case("Annotated[str, Field(pattern='^a+$')]", "aa", "aa", "ab"),
    Case("Annotated[int, 'how many']", 3, 3, "x"),
    Case("UserId", 7, 7, "x"),
    Case("Names", ["a"], ["a"], [1]),
    Case("Rows", [1, [2, [3]]], [1, [2, [3]]], ["a"]),
    Case("'Tree'", {"name": "a"}, Tree(name="a"), {"branches": []}),
    Case("list['Point']", [{"x": 1}], [Point(x=1)], [1]),
)

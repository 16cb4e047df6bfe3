"""A value is read by code of whoever returned it: whatever that does, it has plain parts or is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.plain import Plain
from psych_runtime.tools.problem import Problem
from psych_runtime_core.errors import NotJson
from psych_runtime_core.frozen import MAX_DEPTH
from psych_runtime_core.jsonvalue import thaw
from psych_runtime_core.records.facts import FailureKind

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


def within(leaf: object, levels: int) -> Any:
    """`leaf` in so many lists."""
    value = leaf
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "leaf",
    ["a", 1, 1.5, NOON, date(2024, 2, 29), Decimal("1.1"), UUID(int=1)],
    ids=lambda leaf: type(leaf).__name__,
)
def test_a_scalar_of_any_class_may_stand_in_as_many_lists_as_a_text(leaf: object) -> None:
    assert isinstance(convert(within(leaf, MAX_DEPTH)), Converted)
    with pytest.raises(NotJson, match="deeper than 128 levels"):
        Plain(within(leaf, MAX_DEPTH + 1))


def posing(of: type) -> Any:
    """A value that says it is one of a class that it is none of."""

    class Posing:
        __hash__ = object.__hash__

        @property
        def __class__(self) -> type:
            return of

        @__class__.setter
        def __class__(self, value: type) -> None: ...

    return Posing()


class NoClass(type):
    """The classes of this one cannot be looked up."""

    def __hash__(cls) -> int:
        raise ValueError("no")


class Unknown(metaclass=NoClass):
    """Nothing that JSON knows."""


_CLASSES = (str, int, float, bool, dict, list, tuple, set, Enum, datetime, Decimal, type)


@pytest.mark.parametrize("held", [False, True], ids=["bare", "in a list"])
@pytest.mark.parametrize(
    "make",
    [
        *(pytest.param(lambda of=of: posing(of), id=of.__name__) for of in _CLASSES),
        pytest.param(Unknown, id="a class of none"),
    ],
)
def test_what_lies_about_itself_is_refused_wherever_it_stands(make: Callable[[], Any], held: bool) -> None:
    value = [make()] if held else make()
    problem = convert(value)
    assert isinstance(problem, Problem)
    assert problem.kind is FailureKind.RESULT_NOT_SERIALISABLE
    with pytest.raises(NotJson):
        Plain(value)


@pytest.mark.parametrize("of", _CLASSES, ids=lambda of: of.__name__)
def test_no_key_lies_about_itself(of: type) -> None:
    problem = convert({"a": {posing(of): 1}})
    assert isinstance(problem, Problem)
    assert problem.message.startswith("result['a']: a")


class Boastful(int):
    def __lt__(self, other: object) -> bool:
        return True

    def __gt__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Endless(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise ValueError("no")

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class Wrong(float):
    def is_integer(self) -> bool:
        raise ValueError("no")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        pytest.param(Boastful(5), 5, id="a number"),
        pytest.param(Endless("a"), "a", id="a text"),
        pytest.param(Wrong(2.0), 2, id="a float"),
        pytest.param({Endless("a"): 1}, {"a": 1}, id="a key"),
    ],
)
def test_a_scalar_of_somebodys_own_is_what_it_holds(value: object, plain: object) -> None:
    converted = convert(value)
    assert isinstance(converted, Converted)
    assert thaw(converted.value) == plain


def test_two_keys_that_hold_the_same_are_twins_whatever_they_say() -> None:
    problem = convert({Endless("a"): 1, "a": 2})
    assert isinstance(problem, Problem)
    assert "two keys that are both 'a'" in problem.message

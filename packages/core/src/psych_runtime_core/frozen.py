"""JSON values that cannot change, and the rules by which any value becomes one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel

from psych_runtime_core.errors import NotJson

MAX_DEPTH = 128
# Python itself turns no longer int into text, and so into JSON.
MAX_INT = 10**4_300
# Below it every integral float stands for one integer alone.
EXACT_FLOATS = 2**53

if TYPE_CHECKING:
    Json: TypeAlias = "str | float | int | bool | Sequence[Json] | Mapping[str, Json] | None"
else:
    # A type that names itself would have to be resolved in every module that has a field of it.
    Json = Any


_fill = dict[str, Json].update


def _unchangeable(self: object, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError(f"a {type(self).__name__} cannot change; thaw() gives a copy that can")


class _Frozen:
    """A container that cannot change is its own copy."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


class FrozenDict(_Frozen, dict[str, Json]):
    """A JSON object that cannot change: equal to its plain dict, hashable, picklable."""

    __slots__ = ()

    # Filled here and not by `__init__`, which anyone may call again.
    def __new__(cls, items: Mapping[str, Json] | Iterable[tuple[str, Json]] = ()) -> Self:
        self = super().__new__(cls)
        _fill(self, items)
        return self

    def __init__(self, items: Mapping[str, Json] | Iterable[tuple[str, Json]] = ()) -> None:
        pass

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none, but this one cannot change
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, Json]]]:
        return type(self), (dict(self),)

    __setitem__ = __delitem__ = __ior__ = _unchangeable
    clear = pop = popitem = setdefault = update = _unchangeable


EMPTY_OBJECT: Mapping[str, Json] = FrozenDict()


class FrozenList(_Frozen, list[Json]):
    """A JSON array that cannot change: equal to its plain list, hashable, picklable."""

    __slots__ = ()

    def __new__(cls, items: Iterable[Json] = ()) -> Self:
        self = super().__new__(cls)
        list[Json].extend(self, items)
        return self

    def __init__(self, items: Iterable[Json] = ()) -> None:
        pass

    def __hash__(self) -> int:  # type: ignore[override]  # a list has none, but this one cannot change
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Self], tuple[list[Json]]]:
        return type(self), (list(self),)

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _unchangeable
    append = clear = extend = insert = pop = remove = reverse = sort = _unchangeable


def freeze(value: object, *, surrogates: bool = False) -> Json:
    """An unchangeable copy of `value`, integral floats as ints; what has no JSON form raises `NotJson`.

    `surrogates` lets text hold lone surrogates.
    """
    return _freeze(value, surrogates, 0)


def thaw(value: Json) -> Any:
    """A plain copy of a JSON value, which may be changed; integral floats as ints, as in a frozen one."""
    if isinstance(value, float):
        return integral(value)
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def integral(number: float) -> int | float:
    """`number` as the int it stands for, when it stands for one alone; -0.0 is 0."""
    return int(number) if number.is_integer() and abs(number) < EXACT_FLOATS else number


# --- freezing ------------------------------------------------------------------------------------------

_ADVICE: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (Enum, "write its value"),
    ((set, frozenset), "write an array"),
    ((bytes, bytearray, memoryview), "write a string, base64 for instance"),
    (Decimal, "write a number, or a string to keep its digits"),
    ((date, time, timedelta), "write a string, ISO 8601 for instance"),
    (UUID, "write a string"),
    (BaseModel, "write an object: its model_dump(mode='json')"),
)


def _freeze(value: object, surrogates: bool, depth: int) -> Json:
    freezer = _EXACT.get(type(value)) or _freezer_of(value)
    return freezer(value, surrogates, depth)


def _object(items: Mapping[object, object], surrogates: bool, depth: int) -> FrozenDict:
    check_depth(depth)
    frozen: dict[str, Json] = {}
    for key, item in items.items():
        if not isinstance(key, str) or isinstance(key, Enum):
            raise NotJson(f"a key of type {type(key).__name__}: write a string")
        name = _text(key, surrogates)
        try:
            frozen[name] = _freeze(item, surrogates, depth + 1)
        except NotJson as refused:
            raise refused.below(name) from None
    # What `FrozenDict(frozen)` does in twice the time: most of a document are its objects.
    made = dict.__new__(FrozenDict)
    _fill(made, frozen)
    return made


def _array(items: Sequence[object], surrogates: bool, depth: int) -> FrozenList:
    check_depth(depth)
    frozen: list[Json] = []
    try:
        for item in items:
            frozen.append(_freeze(item, surrogates, depth + 1))
    except NotJson as refused:
        raise refused.below(len(frozen)) from None
    return FrozenList(frozen)


def _text(value: str, surrogates: bool, _depth: int = 0) -> str:
    exact = str.__str__(value)
    if exact.isascii():
        return exact
    try:
        exact.encode()
    except UnicodeEncodeError:
        if not surrogates:
            raise NotJson("text with a lone surrogate: write a string of whole characters") from None
        # JSON has one spelling for a surrogate pair and the character it means: only lone ones are kept.
        return exact.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return exact


def _int(value: int, _surrogates: bool, _depth: int) -> int:
    exact = int.__int__(value)
    if not -MAX_INT < exact < MAX_INT:
        raise NotJson("an int of more than 4,300 digits: write a string")
    return exact


def _float(value: float, _surrogates: bool, _depth: int) -> int | float:
    if not math.isfinite(value):
        raise NotJson(f"{value} has no JSON form: write a finite number or null")
    return integral(float.__float__(value))


def check_depth(depth: int) -> None:
    """Raise `NotJson` for a container inside so many others that no value holds it."""
    if depth >= MAX_DEPTH:
        raise NotJson(f"deeper than {MAX_DEPTH} levels, or a container that holds itself", "too_deep")


def _same(value: Json, _surrogates: bool, _depth: int) -> Json:
    return value


def _no_form(value: object, _surrogates: bool, _depth: int) -> NoReturn:
    if callable(value):
        raise NotJson(_uncalled(value), "callable")
    advice = next(
        (advice for kinds, advice in _ADVICE if isinstance(value, kinds)),
        "write null, a boolean, a number, a string, an array or an object",
    )
    raise NotJson(f"a {type(value).__name__} has no JSON form: {advice}")


def _uncalled(value: object) -> str:
    if isinstance(value, type) and issubclass(value, BaseModel):
        return f"a model class: give a JSON Schema, {value.__name__}.model_json_schema()"
    return "something callable: register a tool and write its name"


_Freezer: TypeAlias = Callable[[Any, bool, int], Json]
_FREEZERS: tuple[tuple[type | tuple[type, ...], _Freezer], ...] = (
    (Enum, _no_form),
    (str, _text),
    ((NoneType, bool), _same),
    (int, _int),
    (float, _float),
    ((list, tuple), _array),
    (Mapping, _object),
    (object, _no_form),
)


def _freezer_of(value: object) -> _Freezer:
    return next(freezer for kinds, freezer in _FREEZERS if isinstance(value, kinds))


# Asked of every value, and most are of these classes.
_COMMON: tuple[object, ...] = ("", None, False, 0, 0.0, [], (), {}, FrozenList(), FrozenDict())
_EXACT: Mapping[type, _Freezer] = {type(value): _freezer_of(value) for value in _COMMON}

"""What a tool returned with every type that JSON lacks rewritten, as a copy that nobody else can change."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import NoneType
from typing import Any, cast
from uuid import UUID

from pydantic_core import to_jsonable_python

from psych_runtime.tools.output import File, ToolOutput
from psych_runtime_core.errors import NotJson
from psych_runtime_core.frozen import check_depth
from psych_runtime_core.jsonvalue import encode_json, freeze

_SCALARS = frozenset({NoneType, bool, int, float, str})
# About how many characters an item takes as JSON, its own length aside where it is a text.
_ITEM = 16


class Plain:
    """`value` as plain containers and scalars; whether what remains is JSON, `freeze` judges.

    `size` is about how many characters it takes as JSON. Raises `NotJson`.
    """

    def __init__(self, value: object) -> None:
        self.size = 0
        self.value = self._copy(value, 0)

    def _copy(self, value: object, depth: int, *at: str | int) -> object:
        """`value`, which stands at such a place in what holds it."""
        try:
            return self._read(value, depth)
        except NotJson as refused:
            raise refused.below(*at) from None
        except BaseException as error:
            # Asking for its class, reading a field, iterating, serialising and `str()` may run the
            # consumer's own code.
            raise NotJson(raising(value, error), loc=at) from None

    def _read(self, value: object, depth: int) -> object:
        if type(value) in _SCALARS:
            return self._scalar(value)
        if isinstance(value, Enum):
            return self._copy(value.value, depth)
        parts = _rewritten(value)
        if not isinstance(parts, dict | list):
            return self._scalar(parts)
        check_depth(depth)
        if isinstance(parts, dict):
            named = cast("dict[str, object]", parts)
            return {key: self._copy(part, depth + 1, key) for key, part in named.items()}
        items = [self._copy(part, depth + 1, at) for at, part in enumerate(cast("list[object]", parts))]
        return sorted(items, key=_canonical) if isinstance(value, set | frozenset) else items

    def _scalar(self, value: object) -> object:
        self.size += _ITEM + (len(value) if isinstance(value, str) else 0)
        return value


def raising(value: object, error: BaseException) -> str:
    """What is said of a value that runs code when it is read, and fails."""
    return f"a value of type {type(value).__name__} that raises {type(error).__name__} when read"


def _canonical(plain: object) -> bytes:
    return encode_json(freeze(plain, surrogates=True))


# --- one value ---------------------------------------------------------------------------------------


def _rewritten(value: object) -> object:
    """`value` as a scalar, a list or a dict with text for keys; what these hold is as it was."""
    scalar = _scalar_of(value)
    return _parts_of(value) if scalar is None else scalar


_TIMES = (datetime, date, time, timedelta)
_TEXTS = (Decimal, UUID, PurePath, Fraction)
# Of a class of somebody's own these take what it holds, and nothing of what it says of itself.
_OWN: tuple[tuple[type, Callable[[Any], object]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)


def _scalar_of(value: object) -> object | None:
    own = next((read for kind, read in _OWN if isinstance(value, kind)), None)
    return _text_of(value) if own is None else own(value)


def _text_of(value: object) -> str | None:
    if isinstance(value, _TIMES):
        return cast("str", to_jsonable_python(value))
    if isinstance(value, Decimal) and not value.is_finite():
        raise NotJson(f"{value} has no JSON form")
    return str(value) if isinstance(value, _TEXTS) else None


def _parts_of(value: object) -> object:
    if isinstance(value, type):
        raise NotJson(f"the class {value.__name__} has no JSON form")
    if isinstance(value, bytes | bytearray | File | ToolOutput):
        advice = "return it alone, or as a File in ToolOutput(value, files=…)"
        raise NotJson(f"a value of type {type(value).__name__} stands inside a result: {advice}")
    serializer: Any = getattr(type(value), "__pydantic_serializer__", None)
    if serializer is not None:
        return serializer.to_python(value, mode="json", warnings="none")
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        names = getattr(items, "_fields", None)
        return list(items) if names is None else dict(zip(names, items, strict=True))
    if isinstance(value, Mapping):
        return _object(cast("Mapping[object, object]", value).items())
    if isinstance(value, list | deque | set | frozenset):
        return list(cast("Iterable[object]", value))
    raise NotJson(f"a value of type {type(value).__name__} has no JSON form")


def _object(items: Iterable[tuple[object, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, item in items:
        text = _key(key)
        if text in found:
            raise NotJson(f"two keys that are both {text!r} as text")
        found[text] = item
    return found


def _key(key: object) -> str:
    if type(key) is str:
        return key
    if isinstance(key, Enum):
        return _key(key.value)
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, bool | int | float):
        return encode_json(freeze(key)).decode()
    if isinstance(key, UUID | date):
        return cast("str", _text_of(key))
    raise NotJson(f"a key of type {type(key).__name__}")

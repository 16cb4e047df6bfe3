"""A tool's result as JSON, encoded once, and its files; or why it has no such form."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import NoneType
from typing import Any, cast
from uuid import UUID

from pydantic_core import to_jsonable_python

from psych_runtime.secrets.masks import NO_MASKS, Masks
from psych_runtime.tools.output import BYTES, MAX_NAME, File, ToolOutput, output_of
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import NotJson
from psych_runtime_core.frozen import MAX_DEPTH
from psych_runtime_core.jsonvalue import Json, encode_json, freeze
from psych_runtime_core.records.base import cut
from psych_runtime_core.records.facts import FailureKind
from psych_runtime_core.records.tool import MAX_ATTACHMENTS

MAX_ENCODED_BYTES = 64 * 1024 * 1024
"""Of the value of a result as JSON, whether a record could hold it or not."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A result as frozen JSON, its canonical bytes, and its files."""

    value: Json
    encoded: bytes
    files: tuple[File, ...] = ()

    @property
    def size(self) -> int:
        """Its bytes, those of its files included."""
        return len(self.encoded) + sum(len(file.data) for file in self.files)

    def masked(self, masks: Masks) -> Converted:
        """The same without a secret in it, which takes its time with a large one."""
        if masks.is_empty:
            return self
        value = masks.json(self.value)
        files = tuple(_masked(file, masks) for file in self.files)
        return Converted(value, encode_json(value), files)


def convert(result: object, masks: Masks = NO_MASKS) -> Converted | Problem:
    """`result` as JSON and files, no secret in them.

    `result_not_serialisable` for what has no such form; `result_too_large` over 64 MiB, or 512 files.
    """
    converted = _converted(result)
    if isinstance(converted, Problem):
        return Problem(converted.kind, masks.text(converted.message))
    return converted.masked(masks)


def _converted(result: object) -> Converted | Problem:
    try:
        output = output_of(result)
        value = freeze(_plain(output.value, 0), surrogates=True)
    except NotJson as refused:
        place = "".join(f"[{token!r}]" for token in refused.loc)
        return _refused(f"result{place}: {refused.reason}")
    except BaseException as error:
        # A lazy stand-in for nothing raises even when it is asked of what type it is.
        return _refused(f"result: {_raising(result, error)}")
    encoded = encode_json(value)
    if len(encoded) > MAX_ENCODED_BYTES:
        return Problem(FailureKind.RESULT_TOO_LARGE, wording.result_too_large(MAX_ENCODED_BYTES))
    if len(output.files) > MAX_ATTACHMENTS:
        return Problem(FailureKind.RESULT_TOO_LARGE, wording.too_many_files(MAX_ATTACHMENTS))
    return Converted(value, encoded, tuple(output.files))


def _masked(file: File, masks: Masks) -> File:
    told = file.media_type
    # A server names the type of its reply, and one with a secret in it is no type of anything.
    media_type = told if masks.text(told) == told else BYTES
    return File(cut(masks.text(file.name), MAX_NAME), media_type, masks.data(file.data))


def _refused(reason: str) -> Problem:
    return Problem(FailureKind.RESULT_NOT_SERIALISABLE, wording.result_not_serialisable(reason))


def _raising(value: object, error: BaseException) -> str:
    return f"a value of type {type(value).__name__} that raises {type(error).__name__} when read"


_SCALARS = frozenset({NoneType, bool, int, float, str})


def _plain(value: object, depth: int) -> object:
    """`value` with every type that JSON lacks rewritten; whether what remains is JSON, `freeze` judges."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Enum):
        return _plain(value.value, depth)
    if isinstance(value, str | int | float):
        return value
    if depth > MAX_DEPTH:
        raise NotJson(f"deeper than {MAX_DEPTH} levels, or a container that holds itself", "too_deep")
    parts = _rewritten(value)
    if isinstance(parts, dict):
        named = cast("dict[str, object]", parts)
        return {key: _below(key, part, depth) for key, part in named.items()}
    if isinstance(parts, list):
        plain = [_below(at, part, depth) for at, part in enumerate(cast("list[object]", parts))]
        return sorted(plain, key=_canonical) if isinstance(value, set | frozenset) else plain
    return parts


def _below(token: str | int, part: object, depth: int) -> object:
    try:
        return _plain(part, depth + 1)
    except NotJson as refused:
        raise refused.below(token) from None
    except BaseException as error:
        raise NotJson(_raising(part, error)).below(token) from None


def _canonical(plain: object) -> bytes:
    return encode_json(freeze(plain, surrogates=True))


# --- one value ---------------------------------------------------------------------------------------


def _rewritten(value: object) -> object:
    """`value` as a scalar, a list or a dict with text for keys; what these hold is as it was."""
    try:
        text = _text_of(value)
        return _parts_of(value) if text is None else text
    except NotJson:
        raise
    except BaseException as error:
        # Reading a field, iterating, serialising and `str()` may run the consumer's own code.
        raise NotJson(_raising(value, error)) from None


_TIMES = (datetime, date, time, timedelta)
_TEXTS = (Decimal, UUID, PurePath, Fraction)


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
    if isinstance(key, Enum):
        return _key(key.value)
    if isinstance(key, str):
        return key
    if isinstance(key, bool | int | float):
        return encode_json(freeze(key)).decode()
    if isinstance(key, UUID | date):
        return cast("str", _text_of(key))
    raise NotJson(f"a key of type {type(key).__name__}")

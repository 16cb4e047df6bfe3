"""Strict JSON: the field types that hold it, its one equality, its one canonical form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder, JSONEncoder
from typing import Annotated, Any, NoReturn

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from psych_runtime_core.errors import NotJson
from psych_runtime_core.frozen import EMPTY_OBJECT, FrozenDict, FrozenList, Json, freeze, thaw
from psych_runtime_core.refusal import Refusal, refuse

__all__ = [
    "EMPTY_OBJECT",
    "FrozenDict",
    "FrozenList",
    "Json",
    "JsonObject",
    "JsonValue",
    "RecordObject",
    "RecordValue",
    "decode_json",
    "encode_json",
    "freeze",
    "json_equal",
    "json_text",
    "thaw",
    "without_surrogates",
]


@dataclass(frozen=True, slots=True)
class _Frozen:
    """Makes pydantic freeze a field; the type it annotates is what type checkers see, and nothing else."""

    surrogates: bool = False
    objects_only: bool = False

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "object"} if self.objects_only else {}

    def _read(self, value: object) -> Json:
        try:
            frozen = freeze(value, surrogates=self.surrogates)
        except NotJson as refused:
            refuse(Refusal(refused.code, refused.reason, value, refused.loc))
        if self.objects_only and not isinstance(frozen, FrozenDict):
            refuse(Refusal("wrong_type", "must be an object", value))
        return frozen


JsonValue = Annotated[Json, _Frozen()]
JsonObject = Annotated[Mapping[str, Json], _Frozen(objects_only=True)]
# What records hold: text of any content, since what a tool or a model said is kept as it was.
RecordValue = Annotated[Json, _Frozen(surrogates=True)]
RecordObject = Annotated[Mapping[str, Json], _Frozen(surrogates=True, objects_only=True)]


def json_equal(a: Json, b: Json) -> bool:
    """JSON equality: a bool is no number, `1` is `1.0`, the order of keys says nothing."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return len(a) == len(b) and all(key in b and json_equal(item, b[key]) for key, item in a.items())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(json_equal, a, b))
    return a == b


# --- as bytes ------------------------------------------------------------------------------------------

_UTF8 = JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_ASCII = JSONEncoder(ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
_MAYBE_INTEGRAL = re.compile(r"\.0(?:[,\]}]|\Z)")


def encode_json(value: Any) -> bytes:
    """The canonical form: keys by code point, no blanks, integral floats as ints, shortest floats, UTF-8.

    A document with a lone surrogate has no UTF-8 and is written in ASCII escapes. Raises `TypeError` or
    `ValueError` for what has no JSON form.
    """
    try:
        return json_text(value).encode()
    except UnicodeEncodeError:
        return _ASCII.encode(thaw(value)).encode()


def json_text(value: Any) -> str:
    """The canonical form as text for people and models: lone surrogates stand in it as they are."""
    text = _UTF8.encode(value)
    return _UTF8.encode(thaw(value)) if _MAYBE_INTEGRAL.search(text) else text


def without_surrogates(text: str) -> str:
    """`text` with each surrogate pair as its character and each lone one as U+FFFD: any wire carries it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def decode_json(document: bytes | str, *, unique_keys: bool = False) -> Any:
    """The plain value of a JSON document. `unique_keys` refuses an object that holds a key twice.

    Raises `ValueError` for what is no JSON in UTF-8, NaN, trailing text and endless nesting included.
    """
    text = document if isinstance(document, str) else document.decode()
    try:
        return (_UNIQUE if unique_keys else _ANY).decode(text)
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None
    except (JSONDecodeError, _Unread):
        raise
    except ValueError:
        # Python's own text tells how to lift its limit, which is not for whoever wrote the document.
        raise ValueError("an int of more than 4,300 digits: write a string") from None


class _Unread(ValueError):
    """What Python reads, and JSON has not."""


def _no_constant(name: str) -> NoReturn:
    raise _Unread(f"{name} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in pairs:
        if key in found:
            raise _Unread(f"the key {key!r} stands twice in one object")
        found[key] = item
    return found


_ANY = JSONDecoder(parse_constant=_no_constant)
_UNIQUE = JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)

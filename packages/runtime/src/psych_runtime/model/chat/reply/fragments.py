"""A piece of a tool call as it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psych_runtime.model.chat.reply.opaque import compact_json, opaque_of
from psych_runtime.model.chat.reply.text import text_of
from psych_runtime.model.numbers import count_of
from psych_runtime.model.shapes import Object, members
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, Json

_CALL_KEYS = frozenset({"index", "id", "type", "function"})
_FUNCTION_KEYS = frozenset({"name", "arguments"})


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a call. What it does not say is None or empty.

    `extras` are the keys that this wire does not name, under `call` and `function`.
    """

    index: int | None = None
    id: str | None = None
    name: str = ""
    arguments: str = ""
    extras: Mapping[str, Json] = EMPTY_OBJECT


def fragment_of(entry: object, place: int | None = None) -> Fragment | None:
    """An entry of `tool_calls`, None for one that says nothing; `place` is its index where it names none."""
    call = members(entry)
    inner = members(call.get("function"))
    call_id = text_of(call.get("id")) or None
    name, arguments = text_of(inner.get("name")), _arguments(inner.get("arguments"))
    extras = _extras(call, inner)
    if not (call_id or name or arguments or extras):
        return None
    index = count_of(call.get("index"))
    return Fragment(place if index is None else index, call_id, name, arguments, extras)


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return compact_json(value)


def _extras(call: Object, inner: Object) -> Mapping[str, Json]:
    """The keys of both that this wire does not name."""
    if _CALL_KEYS.issuperset(call) and _FUNCTION_KEYS.issuperset(inner):
        return EMPTY_OBJECT
    extras = {"call": _others(call, _CALL_KEYS), "function": _others(inner, _FUNCTION_KEYS)}
    return members(opaque_of({where: keys for where, keys in extras.items() if keys}))


def _others(entry: Object, known: frozenset[str]) -> Object:
    return {key: value for key, value in entry.items() if key not in known and value is not None}

"""A piece of a tool call as it came, and where it belongs: one decision, by three rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from psych_runtime.model.chat.reply.arguments import SeenArguments
from psych_runtime.model.chat.reply.faults import malformed
from psych_runtime.model.chat.reply.names import GrowingName
from psych_runtime.model.chat.reply.opaque import compact_json, opaque_of
from psych_runtime.model.chat.reply.text import text_of
from psych_runtime.model.numbers import count_of
from psych_runtime.model.shapes import Object, members
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, FrozenDict, Json


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


@dataclass(slots=True)
class HeldCall:
    """A call that has begun. `chunk` is the number of the one that brought its last arguments."""

    index: int | None = None
    id: str | None = None
    name: GrowingName = field(default_factory=GrowingName)
    chunk: int = 0
    arguments: SeenArguments = field(default_factory=SeenArguments)


AnyCall = TypeVar("AnyCall", bound=HeldCall)


class Verdict(Enum):
    """What a fragment is, when it does not continue a call."""

    REPEATS = "it says once more what a call has said"
    OPENS = "it begins a call"


def place(fragment: Fragment, calls: Sequence[AnyCall], chunk: int) -> Verdict | AnyCall:
    """Whether `fragment`, of the chunk with that number, repeats or opens a call, or the call it continues.

    Raises `Unreadable` for a fragment of no call.
    """
    if _repeats(fragment, calls, chunk):
        return Verdict.REPEATS
    held = _held(fragment, calls)
    if _opens(fragment, held):
        return Verdict.OPENS
    if held is None and calls:
        held = next((call for call in calls if fragment.id and call.id == fragment.id), calls[-1])
    if held is None:
        raise malformed("a piece of a tool call came before any call had begun")
    return held


def fragment_of(entry: object, place: int | None = None) -> Fragment | None:
    """An entry of `tool_calls`, None for one that says nothing; `place` is its index where it names none."""
    call = members(entry)
    inner = members(call.get("function"))
    extras = {
        "call": _others(call, ("index", "id", "type", "function")),
        "function": _others(inner, ("name", "arguments")),
    }
    found = Fragment(
        id=text_of(call.get("id")) or None,
        name=text_of(inner.get("name")),
        arguments=_arguments(inner.get("arguments")),
        extras=FrozenDict({where: keys for where, keys in extras.items() if keys}),
    )
    if found == Fragment():
        return None
    index = count_of(call.get("index"))
    return Fragment(place if index is None else index, found.id, found.name, found.arguments, found.extras)


def _repeats(fragment: Fragment, calls: Sequence[HeldCall], chunk: int) -> bool:
    alike = [call for call in calls if _may_repeat(fragment, call, chunk)]
    if not alike:
        return False
    said = SeenArguments(fragment.arguments)
    return any(call.arguments.equal(said) for call in alike)


def _may_repeat(fragment: Fragment, call: HeldCall, chunk: int) -> bool:
    """Whether `fragment` says the same as `call`, if their arguments do."""
    return (
        chunk > call.chunk
        and bool(fragment.arguments)
        and fragment.index in (None, call.index)
        and _may_be(fragment.id, call.id)
        and (not fragment.name or call.name.equals(fragment.name))
        and call.arguments.closed
    )


def _held(fragment: Fragment, calls: Sequence[AnyCall]) -> AnyCall | None:
    """The call that is held at the fragment's index, or of its id, or, when it has no index, the last one."""
    if fragment.index is not None:
        calls = [call for call in calls if call.index == fragment.index]
    same = (call for call in calls if fragment.id and call.id == fragment.id)
    return next(same, calls[-1] if calls else None)


def _opens(fragment: Fragment, held: HeldCall | None) -> bool:
    if not fragment.name:
        return held is None and fragment.index is not None and fragment.id is not None
    if held is None or not _may_be(fragment.id, held.id):
        return True
    same = fragment.id is not None and fragment.id == held.id
    return not same and bool(fragment.arguments.strip()) and held.arguments.closed


def _may_be(said: str | None, held: str | None) -> bool:
    """Whether two ids can be those of one call: an id may come late, or not again."""
    return said is None or held is None or said == held


def _arguments(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return compact_json(value)


def _others(entry: Object, known: tuple[str, ...]) -> Mapping[str, Json]:
    return FrozenDict(
        {key: opaque_of(value) for key, value in entry.items() if key not in known and value is not None}
    )

"""Where two JSON values differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from psych_runtime_core.errors import Loc, pointer
from psych_runtime_core.jsonvalue import Json, json_equal, json_text
from psych_runtime_core.records.base import cut

MAX_EXCERPT = 200


class Absent:
    """What stands where one of the two has nothing."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = Absent()
Held: TypeAlias = Json | Absent


@dataclass(frozen=True, slots=True)
class Difference:
    """A place, as an RFC 6901 pointer, and what either has there; `ABSENT` is nothing at all."""

    path: str
    left: Held
    right: Held

    @property
    def excerpts(self) -> tuple[str, str]:
        """Both values in at most 200 characters."""
        return _excerpt(self.left), _excerpt(self.right)


def differences(left: Held, right: Held, loc: Loc = ()) -> Iterator[Difference]:
    """Each smallest part that differs: keys in their order, items in theirs."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}):
            yield from differences(left.get(key, ABSENT), right.get(key, ABSENT), (*loc, key))
    elif _is_array(left) and _is_array(right):
        for index in range(max(len(left), len(right))):
            yield from differences(_item(left, index), _item(right, index), (*loc, index))
    elif isinstance(left, Absent) or isinstance(right, Absent) or not json_equal(left, right):
        yield Difference(pointer(loc), left, right)


def _is_array(value: object) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, list | tuple)


def _item(items: Sequence[Json], index: int) -> Held:
    return items[index] if index < len(items) else ABSENT


def _excerpt(value: Held) -> str:
    return cut(repr(value) if isinstance(value, Absent) else json_text(value), MAX_EXCERPT)

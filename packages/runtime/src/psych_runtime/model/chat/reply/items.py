"""Items of reasoning that came in pieces, put together to go back whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from psych_runtime.model.assemble import MAX_ANSWER_BYTES
from psych_runtime.model.chat.reply.faults import too_large
from psych_runtime.model.chat.reply.numbers import count_of
from psych_runtime.model.chat.reply.opaque import opaque_of
from psych_runtime.model.chat.reply.reasoning import ReasoningItem
from psych_runtime.model.chat.reply.shapes import Object
from psych_runtime_core.ports.model import ReasoningDelta

# Text under these keys comes in pieces; of any other key the last value that says something counts.
_GROWING = frozenset({"text", "summary", "thinking", "data"})


class ReasoningItems:
    """The items of an answer, by the field that they came in."""

    def __init__(self) -> None:
        self._fields: dict[str, _Field] = {}
        self._size = 0

    def take(self, piece: ReasoningItem) -> None:
        """Add a piece to its item, or begin one. Raises `Unreadable` when they are too large to keep."""
        item = self._fields.setdefault(piece.field, _Field()).item_of(piece.entry)
        self._size += item.add(piece.entry)
        if self._size > MAX_ANSWER_BYTES:
            raise too_large(f"the answer has over {MAX_ANSWER_BYTES} bytes of reasoning")

    def end(self) -> list[ReasoningDelta]:
        """The items of each field, whole: marks without text."""
        return [
            ReasoningDelta("", opaque_of({"field": name, "items": [item.whole() for item in held.items]}))
            for name, held in self._fields.items()
        ]


@dataclass(slots=True)
class _Item:
    """An item so far. `values` holds its keys in their order, `pieces` the text of those that grow."""

    values: dict[str, object] = field(default_factory=dict[str, object])
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, entry: Object) -> int:
        """Take a piece. Returns by how many characters the item grew."""
        return sum(self._add(key, value) for key, value in entry.items())

    def takes_more(self, entry: Object) -> bool:
        """Whether `entry`, without an index, goes on with this one: a signature ends an item, data is one."""
        return self.values.get("type") == entry.get("type") and not (
            self.values.get("signature") or "data" in entry or "index" in self.values
        )

    def whole(self) -> dict[str, object]:
        return {**self.values, **{key: "".join(pieces) for key, pieces in self.pieces.items()}}

    def _add(self, key: str, value: object) -> int:
        held = self.values.setdefault(key, None)
        if value is None or value in ("", held):
            return 0
        if key in _GROWING and isinstance(value, str):
            self.pieces.setdefault(key, []).append(value)
            return len(value)
        self.values[key] = value
        return len(str(value)) - len(str(held))


@dataclass(slots=True)
class _Field:
    """The items of one field, in their order, and those with an index by it and their type."""

    items: list[_Item] = field(default_factory=list[_Item])
    placed: dict[tuple[int, object], _Item] = field(default_factory=dict[tuple[int, object], _Item])

    def item_of(self, entry: Object) -> _Item:
        """The item that `entry` goes on with, or a new one."""
        index, kind = count_of(entry.get("index")), str(entry.get("type") or "")
        if index is None:
            return self.items[-1] if self.items and self.items[-1].takes_more(entry) else self._new()
        item = self.placed.get((index, kind))
        if item is None:
            item = self._new()
        # A piece that does not say its type goes on with the last one at its index.
        self.placed[index, kind] = self.placed[index, ""] = item
        return item

    def _new(self) -> _Item:
        self.items.append(_Item())
        return self.items[-1]

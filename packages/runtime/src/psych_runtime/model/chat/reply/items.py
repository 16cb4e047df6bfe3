"""Items of reasoning that came in pieces, put together to go back whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from psych_runtime.model.chat.reply.gathered import Gathered, Room
from psych_runtime.model.chat.reply.opaque import opaque_of, text_size
from psych_runtime.model.chat.reply.reasoning import ReasoningItem
from psych_runtime.model.chat.reply.text import text_of
from psych_runtime.model.numbers import count_of
from psych_runtime.model.shapes import Object
from psych_runtime_core.ports.model import ReasoningDelta

# Text under these keys comes in pieces; of any other key the last value that says something counts.
_GROWING = frozenset({"text", "summary", "thinking", "data"})


class ReasoningItems:
    """The items of an answer, by the field that they came in."""

    def __init__(self, room: Room) -> None:
        self._fields: dict[str, _Field] = {}
        self._room = room

    def take(self, piece: ReasoningItem) -> None:
        """Add a piece to its item, or begin one. Raises `Unreadable` when they are too large to keep."""
        item = self._fields.setdefault(piece.field, _Field()).item_of(piece.entry)
        before = item.size
        item.add(piece.entry)
        self._room.grow(item.size - before)

    def end(self) -> list[ReasoningDelta]:
        """The items of each field, whole: marks without text."""
        return [
            ReasoningDelta("", opaque_of({"field": name, "items": [item.whole() for item in held.items]}))
            for name, held in self._fields.items()
        ]


class _Item:
    """An item so far: its keys in their order, and the text of those that grow."""

    __slots__ = ("_pieces", "_text_size", "_values")

    def __init__(self) -> None:
        self._values = Gathered()
        self._pieces: dict[str, list[str]] = {}
        self._text_size = 0

    @property
    def size(self) -> int:
        """Its bytes as JSON; of an item that holds nothing yet, none."""
        return self._values.size + self._text_size + (len("{},") if self._values else 0)

    def add(self, entry: Object) -> None:
        """Take a piece."""
        for key, value in entry.items():
            self._add(key, value)

    def takes_more(self, entry: Object) -> bool:
        """Whether `entry`, without an index, goes on with this one: a signature ends an item, data is one."""
        return self._values.get("type") == entry.get("type") and not (
            self._values.get("signature") or "data" in entry or "index" in self._values
        )

    def whole(self) -> dict[str, object]:
        return {**self._values.plain(), **{key: "".join(pieces) for key, pieces in self._pieces.items()}}

    def _add(self, key: str, value: object) -> None:
        if key not in self._values:
            self._values.put(key, None)
        if value is None or value == "":
            return
        if key in _GROWING and isinstance(value, str):
            self._pieces.setdefault(key, []).append(value)
            self._text_size += text_size(value)
        else:
            self._values.put(key, value)


@dataclass(slots=True)
class _Field:
    """The items of one field, in their order, and those with an index by it and their type."""

    items: list[_Item] = field(default_factory=list[_Item])
    placed: dict[tuple[int, str], _Item] = field(default_factory=dict[tuple[int, str], _Item])

    def item_of(self, entry: Object) -> _Item:
        """The item that `entry` goes on with, or a new one."""
        index, kind = count_of(entry.get("index")), text_of(entry.get("type"))
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

"""A heap from which any member can be taken out."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key")
Id = TypeVar("Id")


class Heap(Generic[Key, Id]):
    """Ids by key, ties by id. What is taken out stays in the list until it comes up, or is in the way."""

    def __init__(self) -> None:
        self._items: list[tuple[Key, Id]] = []
        self._keys: dict[Id, Key] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Id]:
        """All ids, in no order."""
        return iter(self._keys)

    def put(self, member: Id, key: Key) -> None:
        """Put an id in, or move it to another key."""
        self._keys[member] = key
        heappush(self._items, (key, member))
        if len(self._items) > 2 * len(self._keys) + 64:
            self._items = [(key, member) for member, key in self._keys.items()]
            heapify(self._items)

    def take(self, member: Id) -> bool:
        """Take an id out; whether it was in."""
        return self._keys.pop(member, None) is not None

    def first(self) -> tuple[Key, Id] | None:
        """The smallest key and its id."""
        while self._items:
            key, member = self._items[0]
            if self._keys.get(member) == key:
                return key, member
            heappop(self._items)
        return None

"""A heap of Runs from which any one can be taken out."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from psych_runtime_core.ids import RunId

Key = TypeVar("Key")


class RunHeap(Generic[Key]):
    """Runs by key, ties by id. What is taken out stays in the list until it comes up, or is in the way."""

    def __init__(self) -> None:
        self._items: list[tuple[Key, RunId]] = []
        self._keys: dict[RunId, Key] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def put(self, run_id: RunId, key: Key) -> None:
        """Put a Run in that is not in."""
        self._keys[run_id] = key
        heappush(self._items, (key, run_id))
        if len(self._items) > 2 * len(self._keys) + 64:
            self._items = [(key, run_id) for run_id, key in self._keys.items()]
            heapify(self._items)

    def take(self, run_id: RunId) -> bool:
        """Take a Run out; whether it was in."""
        return self._keys.pop(run_id, None) is not None

    def first(self) -> tuple[Key, RunId] | None:
        """The smallest key and its Run."""
        while self._items:
            key, run_id = self._items[0]
            if self._keys.get(run_id) == key:
                return key, run_id
            heappop(self._items)
        return None

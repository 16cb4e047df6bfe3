"""What was worked out from an object, kept as long as that object lives."""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class Kept(Generic[T]):
    """Values by the identity of the object they belong to: finding one reads nothing of the object."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[ref[object], T]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def get(self, owner: object) -> T | None:
        """What is kept for `owner` itself; nothing for one that is merely equal."""
        held = self._held.get(id(owner))
        return held[1] if held is not None and held[0]() is owner else None

    def put(self, owner: object, value: T) -> T:
        """Keep `value` until `owner` is gone, and give it back. It must not refer to `owner`."""
        key = id(owner)
        self._held[key] = ref(owner, lambda _gone: self._held.pop(key, None)), value
        return value

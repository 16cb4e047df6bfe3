"""What was worked out before, kept while it is used and there is room."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    """A value, and what it weighs."""

    value: T
    weight: int


class Recent(Generic[T]):
    """The values used last, at most so many, of at most so much weight together."""

    def __init__(self, most: int, heaviest: int) -> None:
        self._most, self._heaviest = most, heaviest
        self._held: OrderedDict[bytes, Held[T]] = OrderedDict()
        self._weight = 0
        # Several loops in threads of their own judge at once.
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: bytes) -> Held[T] | None:
        """What is kept under `key`."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: bytes, held: Held[T]) -> None:
        """Keep `held`, and let go of what was used longest ago until there is room."""
        with self._lock:
            before = self._held.pop(key, None)
            self._held[key] = held
            self._weight += held.weight - (before.weight if before is not None else 0)
            while self._held and (len(self._held) > self._most or self._weight > self._heaviest):
                _, gone = self._held.popitem(last=False)
                self._weight -= gone.weight

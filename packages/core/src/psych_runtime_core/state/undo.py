"""The one way to change a state's tables, so that what is not committed can be taken back."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")
_ABSENT = object()


class Undo:
    """Remembers what each write replaced, while there is an uncommitted tail."""

    __slots__ = ("_replaced", "staging", "writes")

    def __init__(self) -> None:
        self.staging = False
        self.writes = 0
        self._replaced: list[tuple[MutableMapping[Any, Any], Any, Any]] = []

    def put(self, table: MutableMapping[K, V], key: K, value: V) -> None:
        self._remember(table, key)
        table[key] = value

    def drop(self, table: MutableMapping[K, Any], key: K) -> None:
        self._remember(table, key)
        table.pop(key, None)

    def keep(self) -> None:
        """The tail stands."""
        self._replaced.clear()
        self.staging = False

    def rewind(self) -> None:
        """Take the tail back, the newest write first."""
        for table, key, old in reversed(self._replaced):
            if old is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = old
        self.keep()

    def _remember(self, table: MutableMapping[K, Any], key: K) -> None:
        self.writes += 1
        if self.staging:
            self._replaced.append((table, key, table.get(key, _ABSENT)))

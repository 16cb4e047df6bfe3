"""What was fetched or worked out and may be wanted again, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class LastUsed:
    """Values by their keys: those used last, of `limit_bytes` together. One of more is not kept at all."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._held_bytes = limit_bytes, 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """The value, None where there is none."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: Hashable, value: Any, size_bytes: int) -> None:
        """Keep a value in the place of what was there, and let go of those that were not used for longest."""
        _, before = self._values.pop(key, (None, 0))
        self._held_bytes -= before
        if size_bytes > self._limit:
            return
        self._values[key] = value, size_bytes
        self._held_bytes += size_bytes
        while self._held_bytes > self._limit:
            _, (_, freed) = self._values.popitem(last=False)
            self._held_bytes -= freed

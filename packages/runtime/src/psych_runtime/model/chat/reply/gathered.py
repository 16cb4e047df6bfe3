"""What of an answer is held until more of it has come: counted in bytes of JSON, as it comes."""

from __future__ import annotations

from typing import cast

from psych_runtime.model.assemble import MAX_ANSWER_BYTES
from psych_runtime.model.chat.reply.faults import too_large
from psych_runtime.model.chat.reply.opaque import json_size, text_size
from psych_runtime_core.jsonvalue import FrozenDict, Json

_AROUND_A_KEY = len('"":,')


class Room:
    """The bytes that all parts of one answer hold together."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = 0

    def grow(self, size: int) -> None:
        """So much more is held. Raises `Unreadable` for more than an answer may have."""
        self._bytes += size
        if self._bytes > MAX_ANSWER_BYTES:
            raise too_large(f"the answer has over {MAX_ANSWER_BYTES} bytes")


class Gathered:
    """The members of an object that come in pieces: of each key the later value, `size` bytes in all."""

    __slots__ = ("_values", "size")

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self.size = 0

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __bool__(self) -> bool:
        return bool(self._values)

    def get(self, key: str) -> object:
        """The value of a key, None without one."""
        return self._values.get(key)

    def put(self, key: str, value: object) -> bool:
        """Take a value. Returns whether it says anything new."""
        if key not in self._values:
            self.size += text_size(key) + _AROUND_A_KEY + json_size(value)
        elif self._values[key] == value:
            return False
        else:
            self.size += json_size(value) - json_size(self._values[key])
        self._values[key] = value
        return True

    def plain(self) -> dict[str, object]:
        """All members, in the order in which their keys came."""
        return dict(self._values)

    def frozen(self) -> FrozenDict:
        """The same, for values that cannot change."""
        return FrozenDict(cast("dict[str, Json]", self._values))

"""The name of a tool as it comes in pieces."""

from __future__ import annotations

from hashlib import sha256

from psych_runtime.model.chat.reply.arguments import units
from psych_runtime.model.chat.reply.opaque import text_size


class GrowingName:
    """Providers send the next part of a name, the whole again, or all of it so far.

    No piece costs more than its own length. `size` is in bytes of JSON.
    """

    __slots__ = ("_digest", "_length", "_parts", "size")

    def __init__(self, name: str = "") -> None:
        self._parts: list[str] = []
        self._digest = sha256()
        self._length = self.size = 0
        self.add(name)

    def __bool__(self) -> bool:
        return self._length > 0

    def __str__(self) -> str:
        return "".join(self._parts)

    @property
    def digest(self) -> bytes:
        """That of the whole name, as `digest_of` makes it."""
        return self._digest.digest()

    def begins(self, piece: str) -> bool:
        """Whether `piece` is all of the name so far; what is shorter cannot be."""
        return len(piece) >= self._length and piece.startswith(str(self))

    def add(self, piece: str) -> None:
        """Take the next piece."""
        if self.begins(piece):
            self._parts, self._digest, self._length, self.size = [], sha256(), 0, 0
        if piece:
            self._digest.update(units(piece))
            self._parts.append(piece)
            self._length += len(piece)
            self.size += text_size(piece)

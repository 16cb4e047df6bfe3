"""What is known of arguments that came in pieces and went on, without keeping them."""

from __future__ import annotations

import re
from hashlib import sha256

# A backslash with what it escapes, if that has come by now, and what opens or closes a value.
_MARKS = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)
_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}


def digest_of(text: str) -> bytes:
    """What tells one text from any other."""
    return sha256(units(text)).digest()


class SeenArguments:
    """The digest and the nesting of a text, and its `length`: never more than its bytes in UTF-8.

    Each piece is looked at once, however many there are.
    """

    __slots__ = ("_depth", "_digest", "_escaping", "_first", "_in_string", "length")

    def __init__(self, text: str = "") -> None:
        self._digest, self._depth, self.length = sha256(), 0, 0
        self._first, self._in_string, self._escaping = "", False, False
        self.add(text)

    @property
    def digest(self) -> bytes:
        """That of the whole text, as `digest_of` makes it."""
        return self._digest.digest()

    @property
    def closed(self) -> bool:
        """Whether the object, array or string that the text begins with has come to its end.

        Of a bare number or word nobody can say whether it goes on.
        """
        return self._first in ("{", "[", '"') and self._depth <= 0 and not self._in_string

    def add(self, piece: str) -> None:
        """Take the next piece."""
        if not piece:
            return
        data = units(piece)
        self._digest.update(data)
        self.length += len(data) // 2
        self._first = self._first or piece.lstrip()[:1]
        mark = ""
        # What an escape at the end of the last piece waited for means nothing here.
        for found in _MARKS.finditer(piece, 1 if self._escaping else 0):
            mark = found[0]
            self._take(mark)
        self._escaping = self._in_string and mark == "\\"

    def _take(self, mark: str) -> None:
        if mark == '"':
            self._in_string = not self._in_string
        elif not self._in_string:
            self._depth += _STEP.get(mark, 0)


def units(piece: str) -> bytes:
    """Pieces that are cut within a surrogate pair give the same bytes as the whole."""
    return piece.encode("utf-16-le", "surrogatepass")

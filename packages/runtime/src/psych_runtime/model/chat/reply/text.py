"""Text as it comes in pieces: what stands for text, and characters that were cut in two."""

from __future__ import annotations

from decimal import Decimal

from psych_runtime_core.jsonvalue import without_surrogates

_HIGH_SURROGATES = ("\ud800", "\udbff")
_HALF = "\ufffd"


def text_of(value: object) -> str:
    """The text that a JSON value stands for: a number and a boolean as JSON writes them, else none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float | Decimal) else ""


class WholeText:
    """Gives text on in whole characters: the first half of a pair waits for the second."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """What can go out by now; a half that stands alone becomes U+FFFD."""
        if not self._half and piece.isascii():
            return piece
        text = self._half + piece
        self._half = ""
        if text and _HIGH_SURROGATES[0] <= text[-1] <= _HIGH_SURROGATES[1]:
            text, self._half = text[:-1], text[-1]
        return without_surrogates(text)

    def rest(self) -> str:
        """U+FFFD for a half whose other half never came."""
        rest = _HALF if self._half else ""
        self._half = ""
        return rest

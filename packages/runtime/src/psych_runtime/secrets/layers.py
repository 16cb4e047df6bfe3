"""Takes one layer of spelling off a text: the escapes of JSON and of bytes, percents, entities of HTML."""

from __future__ import annotations

import html
import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

# Each spelling begins with a mark of its own and is read once, from the left: what it means is not.
_SPELLED = re.compile(
    r"""
    \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
    | \\u[0-9a-fA-F]{4} | \\[^ux]
    | \\x[cCdD][0-9a-fA-F]\\x[89abAB][0-9a-fA-F] | \\x[eE][0-9a-fA-F](?:\\x[89abAB][0-9a-fA-F]){2}
    | \\x[fF][0-7](?:\\x[89abAB][0-9a-fA-F]){3} | \\x[0-9a-fA-F]{2} | \\x
    | %[0-7][0-9a-fA-F] | %[cCdD][0-9a-fA-F]%[89abAB][0-9a-fA-F]
    | %[eE][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){2} | %[fF][0-7](?:%[89abAB][0-9a-fA-F]){3}
    | &(?:\#[0-9]{1,8} | \#[xX][0-9a-fA-F]{1,8} | [a-zA-Z][a-zA-Z0-9]{1,31});
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Layer:
    """A text and `meant`, what it says when each of its spellings is read."""

    def __init__(self, told: str) -> None:
        self._told, self._means = told, _Meanings()
        self.meant = _SPELLED.sub(self._meaning, told) if _is_marked(told) else told

    @property
    def is_bare(self) -> bool:
        """Whether nothing in the text is spelled."""
        return self.meant == self._told

    def told(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """The places in the text that `spans` of what is meant were told at, each spelling whole."""
        meant, told = self._pieces

        def place(of: int, after: int) -> int:
            piece = bisect_right(meant, of) - 1
            return told[piece + after] if piece % 2 else told[piece] + of - meant[piece] + after

        return [(place(start, 0), place(end - 1, 1)) for start, end in spans]

    @cached_property
    def _pieces(self) -> tuple[Sequence[int], Sequence[int]]:
        """Where pieces begin, in what is meant and in the text; every other one is a spelling."""
        meant, told = array("q", (0,)), array("q", (0,))
        for spelled in _SPELLED.finditer(self._told):
            begins = meant[-1] + spelled.start() - told[-1]
            meant.extend((begins, begins + len(self._meaning(spelled))))
            told.extend(spelled.span())
        return meant, told

    def _meaning(self, spelled: re.Match[str]) -> str:
        return self._means[spelled[0]]


class _Meanings(dict[str, str]):
    """What spellings stand for, each worked out once for a text."""

    def __missing__(self, spelled: str) -> str:
        self[spelled] = meaning = _character(spelled)
        return meaning


def _is_marked(text: str) -> bool:
    return "\\" in text or "%" in text or "&" in text


def _character(text: str) -> str:
    if text[0] == "&":
        return html.unescape(text)
    if text[0] == "%":
        return bytes.fromhex(text.replace("%", "")).decode("utf-8", "replace")
    if len(text) == len("\\n"):
        return _CONTROLS.get(text[1], text[1])
    codes = bytes.fromhex(text.replace(text[:2], ""))
    if text[1] == "u":
        return codes.decode("utf-16-be", "surrogatepass")
    return codes.decode("latin-1" if len(codes) == 1 else "utf-8", "replace")

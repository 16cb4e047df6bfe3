"""Takes spelling off a text, layer by layer: escapes, percents, entities, quotes, characters byte by byte."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from psych_runtime.secrets.entities import ENTITY, read

# Each begins with a mark of its own and is read once, from the left: what it means is not. Backslashes before
# an escape are one: there are as many of them as it was escaped once more. Quotes side by side are one, which
# is doubled between quotes: how often, nobody can tell either.
_SPELLED = re.compile(
    rf"""
    \\(?<!\\\\)\\*+(?:
        u[0-9a-fA-F]{{4}} | [ux]\{{[0-9a-fA-F]{{1,8}}\}} | x[0-9a-fA-F]{{2}} | [0-3][0-7]{{2}}
        | U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{{4}}
        | (?P<quote>["'])(?:\\*+(?P=quote))++
      )
    | "(?:\\*+")++ | '(?:\\*+')++
    | %[0-9a-fA-F]{{2}}
    | {ENTITY}
    """,
    re.VERBOSE,
)
# A character of which each byte, or each half, was spelled for itself.
_PARTED = re.compile(
    r"""
    [\xc2-\xdf][\x80-\xbf] | [\xe0-\xef][\x80-\xbf]{2} | [\xf0-\xf4][\x80-\xbf]{3}
    | [\ud800-\udbff][\udc00-\udfff]
    """,
    re.VERBOSE,
)
_MARKS = ("\\", "%", "&", '""', "''")
_BACKSLASHES = re.compile(r"\\++")
_LAST_CHARACTER = 0x10FFFF
_QUOTES = "\"'"


class Layer:
    """A text, and what it means when each piece of it that `spelled` matches is read."""

    def __init__(self, told: str, spelled: re.Pattern[str], means: Mapping[str, str]) -> None:
        self._means = means
        # Where pieces begin, in what is meant and in the text; every other one is a spelling.
        self._meant_at, self._told_at = array("q", (0,)), array("q", (0,))
        self.meant = spelled.sub(self._read, told)

    @property
    def is_bare(self) -> bool:
        """Whether nothing in the text is spelled."""
        return len(self._told_at) == 1

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a place in what is meant was told, each spelling whole."""
        return self._edge(start, 0), self._edge(end - 1, 1)

    def _edge(self, of: int, after: int) -> int:
        meant, told = self._meant_at, self._told_at
        piece = bisect_right(meant, of) - 1
        return told[piece + after] if piece % 2 else told[piece] + of - meant[piece] + after

    def _read(self, found: re.Match[str]) -> str:
        spelled = found[0]
        meaning = self._means[spelled]
        if meaning != spelled:
            start, end = found.span()
            begins = self._meant_at[-1] + start - self._told_at[-1]
            self._meant_at.extend((begins, begins + len(meaning)))
            self._told_at.extend((start, end))
        return meaning


def layers_of(text: str, most: int) -> list[Layer]:
    """The layers of `text`, the outermost first: of those that change anything, up to so many."""
    return _taken_off(text, _SPELLED, most) if _is_marked(text) else []


def joined(text: str, most: int) -> list[Layer]:
    """The same of a text whose marks are read: characters beyond ASCII are put together of their parts."""
    return [] if text.isascii() else _taken_off(text, _PARTED, most)


def unescaped(text: str) -> Layer:
    """`text` without backslashes: how often what stands behind them was escaped, nobody can tell."""
    return Layer(text, _BACKSLASHES, _Meanings())


def innermost(layers: Sequence[Layer], text: str) -> str:
    """What is left of `text` under its layers."""
    return layers[-1].meant if layers else text


def _taken_off(text: str, spelled: re.Pattern[str], most: int) -> list[Layer]:
    layers: list[Layer] = []
    means = _Meanings()
    while len(layers) < most:
        layer = Layer(innermost(layers, text), spelled, means)
        if layer.is_bare:
            break
        layers.append(layer)
    return layers


def _is_marked(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


class _Meanings(dict[str, str]):
    """What spellings stand for, each worked out once for a text; one that stands for nothing is itself."""

    def __missing__(self, spelled: str) -> str:
        self[spelled] = meaning = _meaning(spelled)
        return meaning


def _meaning(spelled: str) -> str:
    if spelled[-1] in _QUOTES:
        return spelled[-1]
    if spelled[0] == "\\":
        return _escaped(spelled)
    if spelled[0] == "%":
        return chr(int(spelled[1:], 16))
    if spelled[0] == "&":
        return read(spelled)
    if spelled[0] >= "\ud800":
        return spelled.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return _character(spelled)


def _escaped(spelled: str) -> str:
    escape = spelled.lstrip("\\")
    if not escape:
        return ""
    number = int(escape, 8) if escape.isdigit() else int(escape[1:].strip("{}"), 16)
    return chr(number) if number <= _LAST_CHARACTER else spelled


def _character(of_bytes: str) -> str:
    try:
        return of_bytes.encode("latin-1").decode()
    except UnicodeDecodeError:
        return of_bytes

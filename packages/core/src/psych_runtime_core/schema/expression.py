"""How a pattern is made up, as far as it decides at how many of its places a text can be at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

# As often, or as long, as no text is: whatever is more is taken for it.
ENDLESS = 2**62

_TOKEN = re.compile(
    r"(?P<atom>\\[pPux]\{[^}\\]*+\}|\\[pP].|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\.)"
    r"|(?P<set>\[\^?[^\]\[\\](?:[^\]\[\\]|\\.)*+\]|\[\^?(?:\\.)(?:[^\]\[\\]|\\.)*+\])"
    r"|(?P<open>\((?:\?(?:[-isu]*+:|P?<[A-Za-z_]\w*+>))?+(?!\?))"
    r"|(?P<close>\))|(?P<other>\|)|(?P<start>\^)|(?P<end>\$)"
    r"|(?P<count>[*+?]\??|\{(?P<least>\d*+)(?P<more>,(?P<greatest>\d*+))?\}\??)"
    r"|(?P<unknown>[\[\]]|\(\?)|(?P<char>.)",
    re.DOTALL,
)
_COUNTS: dict[str, tuple[int, int]] = {"*": (0, ENDLESS), "+": (1, ENDLESS), "?": (0, 1)}
_Kind: TypeAlias = Literal["character", "start", "row", "either", "count"]


class Part(NamedTuple):
    """One character, the start of a text, or parts `of` others: in a row, either of them, or one so often."""

    kind: _Kind
    of: tuple[int, ...] = ()
    least: int = 1
    most: int = 1


def expression(pattern: str) -> Sequence[Part] | None:
    """The parts of `pattern`, each behind those that it is made of, by their index; the last is the whole.

    `None` where that is not for certain.
    """
    try:
        return _Reader().read(pattern)
    except ValueError:
        return None


class _Reader:
    """The groups that are open are kept beside the parts: any depth is read."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._open: list[list[list[int]]] = [[[]]]

    def read(self, pattern: str) -> Sequence[Part]:
        for token in _TOKEN.finditer(pattern):
            self._take(token)
        self._close()
        if self._open:
            raise ValueError("a group without end")
        return self._parts

    def _take(self, token: re.Match[str]) -> None:
        kind = token.lastgroup
        if kind == "unknown":
            raise ValueError("not read for certain")
        if kind == "open":
            self._open.append([[]])
        elif kind == "other":
            self._open[-1].append([])
        elif kind == "close":
            closed = self._close()
            if not self._open:
                raise ValueError("an end without its group")
            self._open[-1][-1].append(closed)
        else:
            row = self._open[-1][-1]
            row.append(self._add(_counted(row, token) if kind == "count" else _one(token)))

    def _close(self) -> int:
        rows = [self._add(Part("row", tuple(row))) for row in self._open.pop()]
        return self._add(Part("either", tuple(rows)))

    def _add(self, part: Part) -> int:
        self._parts.append(part)
        return len(self._parts) - 1


def _one(token: re.Match[str]) -> Part:
    if token.lastgroup == "start":
        return Part("start")
    nothing = token.lastgroup == "end" or token.group() in (r"\b", r"\B")
    return Part("row" if nothing else "character")


def _counted(row: list[int], token: re.Match[str]) -> Part:
    if not row:
        raise ValueError("nothing to count")
    written = token.group()
    if written[0] != "{":
        least, most = _COUNTS[written[0]]
    else:
        least = int(token["least"] or 0)
        most = least if token["more"] is None else int(token["greatest"] or ENDLESS)
    return Part("count", (row.pop(),), least, most)

"""How a pattern is made up, as far as it decides at how many of its places a text can be at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"(?P<atom>\\[pP]\{[^}]*+\}|\\[ux]\{[^}]*+\}|\\[pP].|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\.)"
    r"|(?P<set>\[\^?[^\]\[\\](?:[^\]\[\\]|\\.)*+\]|\[\^?(?:\\.)(?:[^\]\[\\]|\\.)*+\])"
    r"|(?P<open>\((?:\?(?:[isu]*+:|P?<[A-Za-z_]\w*+>))?+(?!\?))"
    r"|(?P<close>\))|(?P<other>\|)|(?P<start>\^)|(?P<end>\$)"
    r"|(?P<count>[*+?]\??|\{(?P<least>\d*+)(?P<more>,(?P<greatest>\d*+))?\}\??)"
    r"|(?P<unknown>[\[\]]|\(\?)|(?P<char>.)",
    re.DOTALL,
)
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True, slots=True)
class Part:
    """One character (no `parts`), parts in a row, or `either` of them; so `often`, without end if `None`."""

    parts: tuple[Part, ...] | None = None
    either: bool = False
    anchor: bool = False
    least: int = 1
    most: int | None = 1


def expression(pattern: str) -> Part | None:
    """What `pattern` is made of, or `None` where that is not for certain."""
    try:
        tokens = iter(_TOKEN.finditer(pattern))
        found, closed = _either(tokens)
    except ValueError:
        return None
    return None if closed else found


def _either(tokens: Iterator[re.Match[str]]) -> tuple[Part, bool]:
    """The alternatives up to the end of a group, and whether it was closed."""
    rows: list[list[Part]] = [[]]
    for token in tokens:
        kind = token.lastgroup
        if kind == "close":
            return _alternatives(rows), True
        if kind == "other":
            rows.append([])
        elif kind == "count":
            if not rows[-1]:
                raise ValueError("nothing to count")
            rows[-1].append(_counted(rows[-1].pop(), token))
        else:
            rows[-1].append(_one(token, tokens))
    return _alternatives(rows), False


def _alternatives(rows: list[list[Part]]) -> Part:
    return Part(tuple(Part(tuple(row)) for row in rows), either=True)


def _one(token: re.Match[str], tokens: Iterator[re.Match[str]]) -> Part:
    kind = token.lastgroup
    if kind == "unknown":
        raise ValueError("not read for certain")
    if kind == "open":
        group, closed = _either(tokens)
        if not closed:
            raise ValueError("a group without end")
        return group
    if kind == "start":
        return Part((), anchor=True)
    if kind == "end" or token.group() in (r"\b", r"\B"):
        return Part(())
    return Part()


def _counted(part: Part, token: re.Match[str]) -> Part:
    written = token.group()
    if written[0] != "{":
        least, most = _COUNTS[written[0]]
    else:
        least = int(token["least"] or 0)
        most = least if token["more"] is None else int(token["greatest"]) if token["greatest"] else None
    return Part((part,), least=least, most=most)

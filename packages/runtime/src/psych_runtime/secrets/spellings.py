"""Finds secrets in a text in every spelling that a wire may give them."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import NamedTuple

LONGEST_SPELLING = 12
"""The most characters that one character of a secret takes, spelled once: two escapes of JSON, for one."""

# A text may lie in JSON that lies in JSON, and in a URL or a page as well.
_LAYERS = 3
# By the mark that each spelling begins with.
_SPELLINGS = {
    "\\": r"""
        \\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
        | \\u[0-9a-fA-F]{4} | \\x[0-9a-fA-F]{2} | \\[^u]
    """,
    "%": r"""
        %[0-7][0-9a-fA-F] | %[cCdD][0-9a-fA-F]%[89abAB][0-9a-fA-F]
        | %[eE][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){2} | %[fF][0-7](?:%[89abAB][0-9a-fA-F]){3}
    """,
    "&": r"&(?:\#[0-9]{1,8} | \#[xX][0-9a-fA-F]{1,8} | [a-zA-Z][a-zA-Z0-9]{1,31});",
}
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class _Span(NamedTuple):
    start: int
    end: int
    shown: str


class Spellings:
    """Secrets, and what is shown in the place of each.

    A secret is found as it is and in any case, in the escapes of JSON, percent-encoded, and in the entities
    of HTML, of which each of its characters may have another. Nothing made of a secret is kept beyond it: a
    pattern would be, by `re`.
    """

    def __init__(self, shown: Mapping[str, str]) -> None:
        """`shown` by secret; an empty one is none."""
        self._shown = {_small(secret): mask for secret, mask in shown.items() if secret}
        self._shortest = min(map(len, self._shown), default=0)
        self._readings = [*_readings("".join(self._shown))]

    def replaced(self, text: str) -> str:
        """`text` without a secret; where two overlap, the longer one counts for both."""
        if not self._shown or len(text) < self._shortest:
            return text
        pieces: list[str] = []
        at = 0
        for span in _merged(self._found(text)):
            pieces += (text[at : span.start], span.shown)
            at = span.end
        return "".join((*pieces, text[at:])) if pieces else text

    def _found(self, text: str) -> list[_Span]:
        """Each place of a secret in `text`, as it stands and behind up to three layers of spelling."""
        return [*self._literal(text), *(span for marks in self._readings for span in self._read(text, marks))]

    def _read(self, text: str, marks: str) -> list[_Span]:
        """What the spellings with these marks stand for is read, as often as there are any."""
        found: list[_Span] = []
        layers = [text]
        while len(layers) <= _LAYERS and any(mark in layers[-1] for mark in marks):
            layers.append(_spelled(marks).sub(_character, layers[-1]))
            spans = [*self._literal(layers[-1])]
            for layer in reversed(layers[:-1]):
                spans = _as_spelled(layer, marks, spans)
            found += spans
        return found

    def _literal(self, text: str) -> Iterator[_Span]:
        small = _small(text)
        for secret, shown in self._shown.items():
            at = small.find(secret)
            while at >= 0:
                yield _Span(at, at + len(secret), shown)
                at = small.find(secret, at + len(secret))


def _readings(secrets: str) -> Iterator[str]:
    """The marks to read, and the same without those that a secret has of its own: in it they are letters."""
    own = [mark for mark in _SPELLINGS if mark in secrets]
    for size in range(len(own) + 1):
        for left_out in combinations(own, size):
            yield "".join(mark for mark in _SPELLINGS if mark not in left_out)


@cache
def _spelled(marks: str) -> re.Pattern[str]:
    return re.compile("|".join(_SPELLINGS[mark] for mark in marks), re.VERBOSE | re.DOTALL)


def _small(text: str) -> str:
    """`text` in small letters, as long as it was: of all letters two would make it longer, or change."""
    return text.lower() if text.isascii() else text.replace("İ", "i").replace("Σ", "σ").lower()


def _merged(spans: list[_Span]) -> list[_Span]:
    """The same in their order, those that overlap as one."""
    merged: list[_Span] = []
    longest = 0
    for start, end, shown in sorted(spans):
        last = merged[-1] if merged else None
        if last is None or start >= last.end:
            merged.append(_Span(start, end, shown))
            longest = end - start
            continue
        merged[-1] = _Span(last.start, max(last.end, end), shown if end - start > longest else last.shown)
        longest = max(longest, end - start)
    return merged


def _character(spelled: re.Match[str]) -> str:
    """What a spelling of a character stands for."""
    text = spelled[0]
    if text[0] == "&":
        return html.unescape(text)
    if text[0] == "%":
        return bytes.fromhex(text.replace("%", "")).decode("utf-8", "replace")
    if text[1] in "ux" and len(text) > len("\\x"):
        codes = b"".join(int(code, 16).to_bytes(2, "little") for code in re.split(r"\\[ux]", text)[1:])
        return codes.decode("utf-16-le", "surrogatepass")
    return _CONTROLS.get(text[1], text[1])


def _as_spelled(text: str, marks: str, spans: list[_Span]) -> list[_Span]:
    """The places in `text` of `spans`, which are places in what its spellings stand for."""
    if not spans:
        return []
    # Where pieces begin, in what is meant and in the text; every other one is a spelling.
    meant, told = [0], [0]
    for spelled in _spelled(marks).finditer(text):
        meant.append(meant[-1] + spelled.start() - told[-1])
        meant.append(meant[-1] + len(_character(spelled)))
        told += spelled.span()

    def place(of: int, after: int) -> int:
        piece = bisect_right(meant, of) - 1
        return told[piece + after] if piece % 2 else told[piece] + of - meant[piece] + after

    return [_Span(place(start, 0), place(end - 1, 1), shown) for start, end, shown in spans]

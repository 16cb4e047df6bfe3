"""The fenced blocks of a text, as Markdown writes them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

_MARKS = ("```", "~~~")


class _Fence(NamedTuple):
    """A line of marks, `at` its number."""

    at: int
    mark: str
    length: int
    info: str

    @property
    def opens(self) -> bool:
        return self.mark == "~" or "`" not in self.info

    def closes(self, opening: _Fence) -> bool:
        return self.mark == opening.mark and self.length >= opening.length and not self.info


def lines_of(text: str) -> list[str]:
    """The lines of `text`, however they end. No JSON value spans lines in a way that this would change."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """What stands in each block, in order. What looks like its begin and has no end is a line as any other.

    Each line is looked at once, and once more as far as blocks are asked for.
    """
    held = [*lines]
    ends = _Ends(held)
    opening: _Fence | None = None
    for fence in _fences(enumerate(held)):
        if opening is None:
            opening = fence if fence.opens and ends.has(fence) else None
        elif fence.closes(opening):
            yield "\n".join(held[opening.at + 1 : fence.at])
            opening = None


class _Ends:
    """Where the last end is of each length, or of a longer one."""

    def __init__(self, lines: Sequence[str]) -> None:
        last = {line.strip(" \t"): at for at, line in enumerate(lines) if "```" in line or "~~~" in line}
        ends = [each for each in _fences((at, line) for line, at in last.items()) if not each.info]
        self._lengths: dict[str, list[int]] = {}
        self._last: dict[str, list[int]] = {}
        for mark in "`~":
            found = sorted((-each.length, each.at) for each in ends if each.mark == mark)
            self._lengths[mark] = [length for length, _ in found]
            self._last[mark] = [*accumulate((at for _, at in found), max, initial=-1)]

    def has(self, opening: _Fence) -> bool:
        """Whether a later fence closes the block."""
        as_long = bisect_right(self._lengths[opening.mark], -opening.length)
        return self._last[opening.mark][as_long] > opening.at


def _fences(lines: Iterable[tuple[int, str]]) -> Iterator[_Fence]:
    for at, line in lines:
        text = line.strip(" \t")
        if text.startswith(_MARKS):
            info = text.lstrip(text[0])
            yield _Fence(at, text[0], len(text) - len(info), info)

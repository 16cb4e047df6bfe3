"""The fenced blocks of a text, as Markdown writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


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

    Each line is looked at once.
    """
    held = [*lines]
    fences = [*_fences(held)]
    opening: _Fence | None = None
    begin = 0
    for fence, has_end in zip(fences, _have_ends(fences), strict=True):
        if opening is not None and fence.closes(opening):
            yield "\n".join(held[begin : fence.at])
            opening = None
        elif opening is None and fence.opens and has_end:
            opening, begin = fence, fence.at + 1


def _have_ends(fences: Sequence[_Fence]) -> list[bool]:
    """Of each, whether a later one closes it."""
    longest = {"`": 0, "~": 0}
    found: list[bool] = []
    for fence in reversed(fences):
        found.append(longest[fence.mark] >= fence.length)
        if not fence.info:
            longest[fence.mark] = max(longest[fence.mark], fence.length)
    return found[::-1]


def _fences(lines: Iterable[str]) -> Iterator[_Fence]:
    for at, line in enumerate(lines):
        text = line.strip(" \t")
        if text.startswith(("```", "~~~")):
            info = text.lstrip(text[0])
            yield _Fence(at, text[0], len(text) - len(info), info)

"""A window on the lines of what was kept, or on those of them that hold a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from anyio.lowlevel import checkpoint

from psych_runtime.tools.lines import SLICE, Lines

LINE_SHOWN = 2_000
PAGE_SHOWN = 10_000


@dataclass(frozen=True, slots=True)
class Window:
    """Which lines: so many from the one at `offset`, counted among those that hold `pattern` if there is one.

    It is plain text; without a capital in it, those of the lines do not matter.
    """

    offset: int
    limit: int
    pattern: str | None


class ShownLine(NamedTuple):
    """A line, from 1, or the part of it that is shown."""

    number: int
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Page:
    """What a window shows. `matches` counts the lines that hold the pattern, None without one.

    `truncated`: more lines follow, or one of these is cut.
    """

    lines: tuple[ShownLine, ...]
    matches: int | None
    truncated: bool


async def page_of(lines: Lines, window: Window) -> Page:
    """The page. Its work is linear in the lines, whatever the pattern says."""
    if window.pattern is None:
        places = range(len(lines))[window.offset : window.offset + window.limit]
        shown = tuple(_fitting(_shown(number, lines[number]) for number in places))
        return Page(shown, None, _is_part(shown, window, len(lines)))
    needle = _Needle.of(window.pattern)
    found = await _found(lines, needle)
    hits = found[window.offset : window.offset + window.limit]
    shown = tuple(_fitting(_hit(number, lines[number], needle) for number in hits))
    return Page(shown, len(found), _is_part(shown, window, len(found)))


@dataclass(frozen=True, slots=True)
class _Needle:
    """A text that is looked for; one that `folds` is in lower case, and met in any."""

    text: str
    folds: bool

    @classmethod
    def of(cls, pattern: str) -> _Needle:
        folds = not any(character.isupper() for character in pattern)
        return cls(pattern.lower() if folds else pattern, folds)

    def place(self, line: str) -> int:
        """Where it stands in a line, -1 for nowhere."""
        return (line.lower() if self.folds else line).find(self.text)


async def _found(lines: Lines, needle: _Needle) -> list[int]:
    found: list[int] = []
    for number, line in enumerate(lines):
        if needle.place(line) >= 0:
            found.append(number)
        if number % SLICE == SLICE - 1:
            await checkpoint()
    return found


def _fitting(lines: Iterable[ShownLine]) -> Iterator[ShownLine]:
    """The first line, and as many behind it as one answer holds."""
    left = PAGE_SHOWN
    for place, line in enumerate(lines):
        left -= len(line.text) + 1
        if place and left < 0:
            return
        yield line


def _shown(number: int, line: str, start: int = 0) -> ShownLine:
    return ShownLine(number + 1, line[start : start + LINE_SHOWN], len(line) > LINE_SHOWN)


def _hit(number: int, line: str, needle: _Needle) -> ShownLine:
    """A line, or such a part of it that what was looked for is seen."""
    at, size = needle.place(line), len(needle.text)
    return _shown(number, line, 0 if at + size <= LINE_SHOWN else at - (LINE_SHOWN - size) // 2)


def _is_part(shown: tuple[ShownLine, ...], window: Window, count: int) -> bool:
    return window.offset + len(shown) < count or any(line.is_cut for line in shown)

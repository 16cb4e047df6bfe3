"""The fenced blocks of a text, as Markdown writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class _Fence(NamedTuple):
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
    """What stands in each block that is closed, in order. Each line is looked at once."""
    opening: _Fence | None = None
    held: list[str] = []
    for line in lines:
        fence = _fence(line)
        if opening is None:
            opening = fence if fence is not None and fence.opens else None
        elif fence is not None and fence.closes(opening):
            yield "\n".join(held)
            opening, held = None, []
        else:
            held.append(line)


def _fence(line: str) -> _Fence | None:
    text = line.strip(" \t")
    if not text.startswith(("```", "~~~")):
        return None
    info = text.lstrip(text[0])
    return _Fence(text[0], len(text) - len(info), info)

"""Many small choices out of one drawn value, which is far cheaper than a draw each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Tape:
    """Choices read off bytes; behind their end, the first choice each time."""

    def __init__(self, drawn: bytes) -> None:
        self._left = iter(drawn)

    def below(self, n: int) -> int:
        """0 to `n` - 1, for an `n` up to 256."""
        return next(self._left, 0) % n

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def chance(self, in_256: int) -> bool:
        return self.below(256) > 255 - in_256


def tapes(length: int) -> st.SearchStrategy[Tape]:
    return st.binary(min_size=length, max_size=length).map(Tape)

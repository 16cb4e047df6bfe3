"""At how many places of a pattern the judge can be at once, while it reads a text: as often a byte costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from psych_runtime_core.schema.expression import Part, expression

# A longer pattern is not looked into.
_MAX_PATTERN = 5_000


@lru_cache(maxsize=4_096)
def states(pattern: str, length: float = inf) -> float | None:
    """At most so many places, for a text of `length` bytes; `None` if that cannot be told."""
    if len(pattern) > _MAX_PATTERN:
        return None
    try:
        found = expression(pattern)
        return None if found is None else _Reading(length).of(found, inf).states
    except RecursionError:
        return None


@lru_cache(maxsize=4_096)
def passed(pattern: str, length: int) -> float | None:
    """The places that it is at, byte by byte, in a text of so many: at the first ones there are few."""
    total, read, upto = 0.0, 0, 1
    while read < length:
        here = states(pattern, upto)
        if here is None:
            return None
        total += here * (min(upto, length) - read)
        read, upto = upto, 2 * upto
    return total


@dataclass(frozen=True, slots=True)
class _Read:
    """What reading a part comes to: its places, and how many characters it takes."""

    states: float
    shortest: float
    longest: float


class _Reading:
    def __init__(self, length: float) -> None:
        self._length = length
        self._known: dict[tuple[int, float], _Read] = {}

    def of(self, part: Part, starts: float) -> _Read:
        """`starts` is how many characters in a row may be the first of the part."""
        starts = min(starts, self._length + 1)
        key = (id(part), starts)
        if key not in self._known:
            self._known[key] = self._of(part, starts)
        return self._known[key]

    def _of(self, part: Part, starts: float) -> _Read:
        if part.parts is None:
            return _Read(1, 1, 1)
        if part.either:
            ways = [self.of(each, starts) for each in part.parts]
            return _Read(
                sum(way.states for way in ways),
                min(way.shortest for way in ways),
                max(way.longest for way in ways),
            )
        if part.least == part.most == 1:
            return self._in_a_row(part.parts, starts)
        return self._often(part, part.parts[0], starts)

    def _in_a_row(self, parts: Sequence[Part], starts: float) -> _Read:
        states, shortest, longest = 0.0, 0.0, 0.0
        for each in parts:
            if each.anchor:
                starts = 1
            read = self.of(each, starts)
            states += read.states
            shortest, longest = shortest + read.shortest, longest + read.longest
            starts += read.longest - read.shortest
        return _Read(max(1, states), shortest, longest)

    def _often(self, part: Part, counted: Part, starts: float) -> _Read:
        """Counted out, a part is there so often. One that always takes as many characters is, from each
        start, at one of them.
        """
        once, anywhere = self.of(counted, starts), self.of(counted, inf)
        copies: float = max(1, part.least if part.most is None else part.most)
        if once.shortest:
            copies = min(copies, self._length // once.shortest + 1)
        found = once.states if part.most == 1 else copies * anywhere.states
        if once.shortest == once.longest > 0:
            endless = anywhere.states if part.most is None else 0
            found = min(found, starts * self.of(counted, 1).states + endless)
        most = inf if part.most is None else part.most
        longest = once.longest * most if once.longest and most else 0.0
        return _Read(max(1, found), once.shortest * part.least, longest)

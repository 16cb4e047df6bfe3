"""At how many places of a pattern the judge can be at once, while it reads a text: as often a byte costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from psych_runtime_core.schema.expression import ENDLESS, Part


class _Read(NamedTuple):
    """What reading a part comes to: its places, and how many characters it takes.

    How many places, depends on how many characters in a row may be the first of the part.
    """

    one: int
    """The places if one may be."""
    more: int
    """And for each one more, up to `anywhere`."""
    anywhere: int
    shortest: int = 0
    longest: int = 0
    is_start: bool = False

    def places(self, starts: int) -> int:
        return min(self.anywhere, self.one + self.more * (starts - 1))


_NOTHING = _Read(1, 0, 1)
_START = _Read(1, 0, 1, is_start=True)
_CHARACTER = _Read(1, 0, 1, 1, 1)


def states(parts: Sequence[Part], length: int = ENDLESS) -> int:
    """At most so many places, for a text of `length` bytes. Each part is looked at once."""
    reads: list[_Read] = []
    for part in parts:
        reads.append(_BY_KIND[part.kind](part, [reads[index] for index in part.of], length))
    return reads[-1].anywhere


def _row(_part: Part, reads: Sequence[_Read], length: int) -> _Read:
    one = more = anywhere = shortest = longest = spread = 0
    started = False
    for read in reads:
        if read.is_start:
            started, spread = True, 0
        here = read.places(1 + min(spread, length))
        one += here
        anywhere += here if started else read.anywhere
        more += 0 if started or here == read.anywhere else read.more
        shortest, longest = shortest + read.shortest, longest + read.longest
        spread += read.longest - read.shortest
    return _Read(max(1, one), more, max(1, anywhere), shortest, longest)


def _either(_part: Part, reads: Sequence[_Read], _length: int) -> _Read:
    return _Read(
        sum(read.one for read in reads),
        sum(read.more for read in reads),
        sum(read.anywhere for read in reads),
        min(read.shortest for read in reads),
        max(read.longest for read in reads),
    )


def _count(part: Part, reads: Sequence[_Read], length: int) -> _Read:
    """Counted out, a part is there so often. One that always takes as many characters is, from each start,
    at one of them.
    """
    (read,) = reads
    if part.most == 0:
        return _NOTHING
    shortest, longest = min(ENDLESS, read.shortest * part.least), min(ENDLESS, read.longest * part.most)
    if part.most == 1:
        return _Read(read.one, read.more, read.anywhere, shortest, longest)
    is_endless = part.most >= ENDLESS
    copies = max(1, part.least if is_endless else part.most)
    if read.shortest:
        copies = min(copies, length // read.shortest + 1)
    most = min(ENDLESS, copies * read.anywhere)
    if not 0 < read.shortest == read.longest:
        return _Read(most, 0, most, shortest, longest)
    beyond = read.anywhere if is_endless else 0
    return _Read(
        min(most, read.one + beyond),
        read.one,
        min(most, (length + 1) * read.one + beyond),
        shortest,
        longest,
    )


_BY_KIND: Mapping[str, Callable[[Part, Sequence[_Read], int], _Read]] = {
    "character": lambda _part, _reads, _length: _CHARACTER,
    "count": _count,
    "either": _either,
    "row": _row,
    "start": lambda _part, _reads, _length: _START,
}

"""What it costs to read a text by a pattern. Each pattern is weighed once, before any value is seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypeAlias

from psych_runtime_core.schema.expression import Part, expression
from psych_runtime_core.schema.states import states

# All patterns together are looked through so many characters long; each of them takes a microsecond or two.
MAX_LOOKED_AT = 100_000
# A longer pattern is not looked into.
_MAX_PATTERN = 5_000
# Beyond sixteen million bytes there is no text.
_MAX_RATES = 25
# A pattern that is not looked into and has so many bytes reads a byte in the time of a visit, at the worst.
_PATTERN_BYTES_A_VISIT = 64
# To be at one place of a pattern for one byte takes it twelve nanoseconds, of a strange one fifty.
_STATE = 2


@dataclass(frozen=True, slots=True)
class Reading:
    """The visits that one byte takes: the first, those up to the second, the fourth, the eighth, and so on;
    the last of them is for all further ones. At the first bytes a text is at few places of a pattern.
    """

    rates: tuple[int, ...] = (0,)

    @property
    def a_byte(self) -> int:
        """The visits that one byte takes at most, wherever it stands."""
        return self.rates[-1]

    def of(self, length: int) -> int:
        """The visits that a text of `length` bytes takes."""
        total, read = 0, 0
        for power, rate in enumerate(self.rates[:-1]):
            upto = min(1 << power, length)
            total += rate * (upto - read)
            read = upto
        return total + self.rates[-1] * (length - read)


Readings: TypeAlias = Mapping[str, Reading]
"""The patterns of a schema, and what reading by each costs."""


def together(readings: Iterable[tuple[Reading, int]]) -> Reading:
    """What reading a text by each of them costs, each so often."""
    rises: list[int] = [0]
    for reading, often in readings:
        rises += [0] * (len(reading.rates) - len(rises))
        for index, (before, rate) in enumerate(pairwise((0, *reading.rates))):
            rises[index] += often * (rate - before)
    return Reading(tuple(accumulate(rises)))


def weighed(sizes: Mapping[str, int]) -> Readings:
    """What reading by each of the patterns costs that have so many bytes once they are compiled.

    The more patterns there are, and the longer, the fewer lengths each is weighed for; where they are too
    many to be looked into at all, each is taken at the worst.
    """
    into = [pattern for pattern in sizes if len(pattern) <= _MAX_PATTERN]
    times = MAX_LOOKED_AT // max(1, sum(map(len, into)))
    found = {pattern: Reading((size // _PATTERN_BYTES_A_VISIT,)) for pattern, size in sizes.items()}
    for pattern in into if times else ():
        if (parts := expression(pattern)) is not None:
            found[pattern] = Reading(tuple(_rates(parts, min(times, _MAX_RATES))))
    return found


def _rates(parts: Sequence[Part], times: int) -> Iterator[int]:
    last = _STATE * states(parts)
    for power in range(times - 1):
        rate = _STATE * states(parts, 1 << power)
        if rate >= last:
            break
        yield rate
    yield last

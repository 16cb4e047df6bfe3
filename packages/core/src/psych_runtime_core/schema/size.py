"""What of a value decides how long it takes to judge."""

import re
from collections.abc import Mapping
from functools import cached_property

from psych_runtime_core.jsonvalue import Json

BYTES_A_VISIT = 16
# A character has up to four bytes.
_CHARACTERS_A_VISIT = BYTES_A_VISIT // 4
# With as many digits an integer may have more than 64 bits.
_LONG = 19
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"')
_LONG_NUMBER = re.compile(rb"\d++[.e][\d.e+-]*+|\d{19,}+")
_NUMBER = re.compile(rb"\d[\d.e+-]*+")
# The judge reads a number as a fraction in the time of so many visits, and its digits by their square.
_READ = 100
_SQUARE_A_VISIT = 120
# Two numbers are compared in a visit for as many bytes squared.
_BYTES_SQUARED_A_VISIT = 12


class Amounts:
    """How much there is of all that work is counted by, in the canonical bytes of a value; no less."""

    def __init__(self, canonical: bytes) -> None:
        self.length = len(canonical)
        # Without its strings: what is left is structure, numbers and words.
        self._frame = _STRING.sub(b"", canonical)

    @cached_property
    def values(self) -> int:
        """How many values there are, each with all that it holds."""
        return 1 + sum(map(self._frame.count, (b",", b"[", b"{")))

    @property
    def visits(self) -> int:
        return self.values + self.length // BYTES_A_VISIT

    @property
    def places(self) -> int:
        """Values, and names of members."""
        return self.values + self._frame.count(b":")

    @property
    def options(self) -> int:
        """The values that are compared with others."""
        return self.values

    @property
    def listed(self) -> int:
        """The same: each is compared with all that a schema lists, at most."""
        return self.values

    @property
    def text(self) -> int:
        """The bytes of strings and names."""
        return self.length - len(self._frame)

    @property
    def integers(self) -> int:
        """The numbers that are integers of 64 bits."""
        return _NUMBER.subn(b"", self._frame)[1] - self.numbers

    @property
    def numbers(self) -> int:
        """The numbers that are not."""
        return len(self._long)

    @property
    def digits(self) -> int:
        """What it takes to read the digits of the longest ones."""
        lengths = filter(lambda length: length >= _LONG, map(written, self._long))
        return sum(_READ + square(length) for length in lengths)

    @property
    def parts(self) -> int:
        """Values and bytes, as they are hashed."""
        return self.visits

    @property
    def pairs(self) -> int:
        """The pairs of numbers that have one hash: all beyond 64 bits have."""
        alike = sum(len(number) for number in self._long if b"." not in number or b"e+" in number)
        return alike * alike // _BYTES_SQUARED_A_VISIT

    @cached_property
    def _long(self) -> list[bytes]:
        return [number for number in _LONG_NUMBER.findall(self._frame) if not _is_64_bits(number)]


def _is_64_bits(number: bytes) -> bool:
    return len(number) == _LONG and number.isdigit() and int(number) < 2**63


def written(number: bytes) -> int:
    """The digits that a number has, written out without an exponent."""
    mantissa, _, exponent = number.partition(b"e")
    return len(mantissa) + abs(int(exponent or b"0"))


def square(digits: int) -> int:
    """The visits that it takes to read so many digits."""
    return digits * digits // _SQUARE_A_VISIT


def is_plain(value: Json) -> bool:
    """Whether it is an integer of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def places(value: Json) -> int:
    """How many values and names `value` is, with all that it holds."""
    if isinstance(value, Mapping):
        return 1 + len(value) + sum(map(places, value.values()))
    if isinstance(value, list | tuple):
        return 1 + sum(map(places, value))
    return 1


def extent(value: Json, most: int) -> int:
    """The places of `value` and the visits that its texts take: what there is to be compared with another
    one. Where it is more than `most`, so is what is said.
    """
    found, left = 0, [value]
    while left and found + len(left) <= most:
        held = left.pop()
        found += 1
        if isinstance(held, str):
            found += len(held) // _CHARACTERS_A_VISIT
        elif isinstance(held, dict | list) and found + len(held) > most:
            return most + 1
        elif isinstance(held, dict):
            left += (*held, *held.values())
        elif isinstance(held, list):
            left += held
    return found + len(left)


def depth(value: Json) -> int:
    """How many containers stand in each other."""
    if isinstance(value, Mapping):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list | tuple):
        return 1 + max(map(depth, value), default=0)
    return 0


def has_blind_tag(value: Json, tags: frozenset[str]) -> bool:
    """Whether a member named by `tags` is a number that the judge cannot look up: it enters every branch."""
    if isinstance(value, Mapping):
        return any(
            (name in tags and _is_blind(item)) or has_blind_tag(item, tags) for name, item in value.items()
        )
    return isinstance(value, list | tuple) and any(has_blind_tag(item, tags) for item in value)


def _is_blind(tag: Json) -> bool:
    return isinstance(tag, float) or (isinstance(tag, int) and abs(tag) >= 2**63)

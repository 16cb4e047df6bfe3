"""Figures as providers write them: counts and amounts of money, or nothing that can be relied on."""

from __future__ import annotations

import re
from decimal import Decimal

# Every reader of JSON holds an integer below it exactly.
_TOO_MANY = 2**53
_DIGITS = re.compile(r"[0-9]{1,16}")
_NUMBER = re.compile(r"[0-9]{1,80}(?:\.[0-9]{1,80})?(?:[eE][+-]?[0-9]{1,4})?")

MAX_DIGITS = 40
# With 40 digits behind the point, a million such amounts still have an exact sum in 60 digits.
_MAX_WHOLE_DIGITS = 14


def count_of(value: object) -> int | None:
    """A whole number from 0, out of a number or of digits; None for anything else."""
    if type(value) is int:
        return value if 0 <= value < _TOO_MANY else None
    if isinstance(value, str):
        digits = value.strip()
        value = int(digits) if _DIGITS.fullmatch(digits) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    # A comparison with a Decimal that is no number raises.
    if isinstance(value, Decimal) and not value.is_finite():
        return None
    return int(value) if 0 <= value < _TOO_MANY and value % 1 == 0 else None


def amount_of(value: object) -> Decimal | None:
    """An exact amount from 0, of at most 40 digits, out of a number or its text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    amount = value if isinstance(value, Decimal) else _read(str(value).strip())
    if amount is None or not amount.is_finite() or amount.is_signed():
        return None
    # A zero may have any exponent, and sums of such zeros would not fit.
    return (amount or Decimal(0)) if _fits(amount) else None


def _read(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _fits(amount: Decimal) -> bool:
    if not amount:
        return True
    _, digits, exponent = amount.as_tuple()
    scale = int(exponent)
    whole, behind = max(len(digits) + scale, 0), max(-scale, 0)
    return whole <= _MAX_WHOLE_DIGITS and whole + behind <= MAX_DIGITS

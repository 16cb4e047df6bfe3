"""Figures as providers write them: counts and amounts of money, or nothing that can be relied on."""

from __future__ import annotations

import re
from decimal import Decimal

from psych_runtime_core.usage import summable

# Every reader of JSON holds an integer below it exactly.
_TOO_MANY = 2**53
_DIGITS = re.compile(r"[0-9]{1,16}")
_NUMBER = re.compile(r"[0-9]{1,80}(?:\.[0-9]{1,80})?(?:[eE][+-]?[0-9]{1,4})?")


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
    """An exact amount from 0 that can be summed, out of a number or its text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    amount = value if isinstance(value, Decimal) else _read(str(value).strip())
    return None if amount is None or amount.is_signed() else summable(amount)


def _read(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None

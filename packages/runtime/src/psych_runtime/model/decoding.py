"""JSON as providers write it, looser than the standard, every digit of a number kept."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation

# Python itself reads and writes no longer integers.
MAX_DIGITS = 4_300


def decoded(text: str) -> object:
    """The JSON that `text` is, whole, floats and endless integers as `Decimal`.

    Raises `ValueError` for what is none, `RecursionError` for endless nesting.
    """
    try:
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Of an integer that Python does not read.
        value, end = _PATIENT.raw_decode(text)
    if end < len(text):
        raise ValueError("more text comes behind the JSON")
    return value


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= MAX_DIGITS else Decimal(text)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        # An exponent of twenty digits: no figure at all, and no reason to lose an answer.
        return Decimal("NaN")


# NaN and Infinity are read too: a provider that does not know a price writes them beside a good answer. Not
# strict: some write a control character of a text as it is.
_DECODER = json.JSONDecoder(strict=False, parse_float=_decimal, parse_constant=Decimal)
_PATIENT = json.JSONDecoder(strict=False, parse_int=_integer, parse_float=_decimal, parse_constant=Decimal)

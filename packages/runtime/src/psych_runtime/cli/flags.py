"""What stands behind a flag: seconds, moments, labels."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

_AGE = re.compile(r"(\d{1,9})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def seconds(text: str) -> float:
    """A number of seconds: over 0, to a day."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= 86_400:
        raise ArgumentTypeError(f"{text!r} is no number of seconds over 0, to 86400")
    return number


def moment(text: str) -> datetime:
    """`2h` is two hours ago; else an ISO-8601 date or time, which is UTC where it names no offset."""
    try:
        if age := _AGE.fullmatch(text):
            return datetime.now(UTC) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        wanted = "an age such as 90s, 15m, 2h, 7d or 4w, nor an ISO-8601 date or time"
        raise ArgumentTypeError(f"{text!r} is neither {wanted}") from None


def label(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def page_size(text: str) -> int:
    """How many Runs a page has."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= 1_000:
        raise ArgumentTypeError(f"{text!r} is no number from 1 to 1000")
    return int(text)

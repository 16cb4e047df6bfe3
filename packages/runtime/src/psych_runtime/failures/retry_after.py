"""How long a server asks to wait, as the headers of its reply say it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_HINT_SECONDS = 86_400.0

# Under the second, LiteLLM's proxy hands on what the provider behind it said.
_PREFIXES = ("", "llm_provider-")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


def retry_after(headers: Mapping[str, str], received_at: datetime | None = None) -> float | None:
    """Seconds to wait, 0 to a day; None where nothing readable is said.

    A date is measured against the reply's own `Date`, so a server's wrong clock does no harm, else against
    `received_at`, an aware instant.
    """
    told = {name.lower(): value.strip() for name, value in headers.items()}
    hints = (_hint(told, prefix, received_at) for prefix in _PREFIXES)
    return next((hint for hint in hints if hint is not None), None)


def _hint(told: Mapping[str, str], prefix: str, received_at: datetime | None) -> float | None:
    milliseconds = _number(told.get(f"{prefix}retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    wanted = told.get(f"{prefix}retry-after", "")
    seconds = _number(wanted)
    if seconds is not None:
        return _bounded(seconds)
    date = told.get(f"{prefix}date") or told.get("date", "")
    return _until(_instant(wanted), _instant(date) or received_at)


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_HINT_SECONDS)


def _until(then: datetime | None, now: datetime | None) -> float | None:
    if then is None or now is None:
        return None
    # What is left of a second counts as one: a `Date` is cut to its second, and too late is polite.
    return _bounded(math.ceil((then - now).total_seconds()))


def _instant(text: str) -> datetime | None:
    """An HTTP date in any of its three forms; one without a zone is in UTC."""
    try:
        read = parsedate_to_datetime(text)
        return read if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None

"""Whether an HTTP call is tried once more, and after how long: a function of how the last try ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from psych_runtime.failures.retry_after import retry_after
from psych_runtime.failures.statuses import may_pass
from psych_runtime.tools.http.reply import HttpReply
from psych_runtime_core.engine.retry import retry_delay
from psych_runtime_core.errors import RequestFailed

MAX_TRIES = 3
Tried: TypeAlias = HttpReply | RequestFailed


@dataclass(frozen=True, slots=True)
class TryTerms:
    """`safe`: a request may reach the server twice. `key` spreads the pauses of calls that fail together."""

    safe: bool
    key: str
    deadline: datetime | None


def pause_before_next(number: int, tried: Tried, terms: TryTerms, now: datetime) -> float | None:
    """Seconds until try `number` + 1; None when there is none. No try begins at the deadline or after it."""
    if number >= MAX_TRIES or not _may_repeat(tried, terms):
        return None
    pause = retry_delay(number, hint_of(tried, now), f"{terms.key}:{number}")
    if terms.deadline is not None and now + timedelta(seconds=pause) >= terms.deadline:
        return None
    return pause


def hint_of(tried: Tried, now: datetime) -> float | None:
    """The seconds that the server asked to wait."""
    return retry_after(tried.headers, now) if isinstance(tried, HttpReply) else tried.retry_after_seconds


def _may_repeat(tried: Tried, terms: TryTerms) -> bool:
    if isinstance(tried, RequestFailed):
        return terms.safe or not tried.sent
    return terms.safe and may_pass(tried.status)

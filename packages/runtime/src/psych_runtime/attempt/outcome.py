"""How an Attempt ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from psych_runtime.attempt.loaded import Loaded


class Ended(StrEnum):
    """What became of the Run under this lease."""

    SETTLED = "settled"
    PARKED = "parked"
    HANDED_OVER = "handed_over"
    UNSERVED = "unserved"
    TOO_NEW = "too_new"
    QUARANTINED = "quarantined"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`loaded` is what was folded, for the next claim; `missing` says why the Run is not served here.

    `due_at` is when a parked Run must be looked at again, None when somebody wakes it.
    """

    ended: Ended
    loaded: Loaded | None = None
    due_at: datetime | None = None
    missing: str | None = None

"""Messages that no turn has read yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records.facts import QueueKind


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A pending message."""

    entry_id: str
    queue: QueueKind
    payload: Mapping[str, Json]
    seq: int
    at: datetime
    sent_by: str | None

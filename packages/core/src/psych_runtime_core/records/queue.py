"""Messages that people send to a Run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from psych_runtime_core.content import Content
from psych_runtime_core.ids import Identifier
from psych_runtime_core.jsonvalue import RecordObject
from psych_runtime_core.records.base import Ordinal, RecordModel
from psych_runtime_core.records.facts import QueueKind

EntryId = Annotated[str, Field(min_length=1, max_length=128)]


class QueueEnqueued(RecordModel):
    """A message was sent. A second one of the same `entry_id` changes nothing."""

    type: Literal["queue_enqueued"] = "queue_enqueued"
    entry_id: EntryId
    queue: QueueKind
    payload: Annotated[RecordObject, Content({})]
    sent_by: Identifier | None = None


class QueueConsumed(RecordModel):
    """A turn reads a message."""

    type: Literal["queue_consumed"] = "queue_consumed"
    entry_id: EntryId
    turn: Ordinal

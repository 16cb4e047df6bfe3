"""Waits, their answers, and the decisions that are remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psych_runtime_core.ids import ToolCallId, WaitId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.records.facts import SuspendReason


@dataclass(frozen=True, slots=True)
class WaitAnswer:
    """How a Wait was answered, by whom and when. `arguments` replace those of the call."""

    cause: Literal["answer", "expired"]
    approved: bool | None
    payload: Mapping[str, Json]
    arguments: Mapping[str, Json] | None
    arguments_digest: str | None
    remember: Literal["tool", "arguments"] | None
    by: str | None
    at: datetime
    seq: int


@dataclass(frozen=True)
class Wait:
    """Something a call waits for. It is open while `answer` is None."""

    wait_id: WaitId
    lane: str
    reason: SuspendReason
    call_id: ToolCallId
    due_at: datetime
    opened_at: datetime
    opened_seq: int
    tool: str
    tool_class: ToolClass
    arguments: Mapping[str, Json] | None
    arguments_digest: str
    question: str
    answer: WaitAnswer | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A decision that answers later calls of a tool, with equal arguments or with any."""

    tool: str
    arguments_digest: str | None
    approved: bool
    wait_id: WaitId
    by: str | None

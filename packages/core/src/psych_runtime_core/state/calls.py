"""A call that has no result yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psych_runtime_core.ids import ToolCallId, WaitId
from psych_runtime_core.jsonvalue import Json

CallPhase = Literal["announced", "started"]


@dataclass(frozen=True, slots=True)
class Approved:
    """That a person allowed the call, and the digest of what may run."""

    wait_id: WaitId
    arguments_digest: str


@dataclass(frozen=True)
class CallState:
    """An announced or started call.

    `arguments` is the JSON object that was asked for, or that runs; None where the raw text holds none.
    `epoch` and `started_at` are of its newest start; `wait_id` is the Wait it holds, open or answered.
    """

    call_id: ToolCallId
    lane: str
    turn: int
    ordinal: int
    name: str
    arguments_raw: str
    arguments_digest: str
    provider_id: str | None = None
    phase: CallPhase = "announced"
    tool: str | None = None
    arguments: Mapping[str, Json] | None = None
    epoch: int = 0
    run_number: int = 0
    started_at: datetime | None = None
    safe_to_retry: bool = False
    probe: bool = False
    wait_id: WaitId | None = None
    waits_opened: int = 0
    approved: Approved | None = None

"""The union of all records."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import AbortRequested, AttemptStarted, RunAdmitted, RunSettled
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended

Record = (
    RunAdmitted
    | AttemptStarted
    | RunSettled
    | TurnStarted
    | ModelCallStarted
    | ModelCallFinished
    | ModelCallFailed
    | ToolCallStarted
    | ToolCallFinished
    | Suspended
    | Resumed
    | AbortRequested
    | QueueEnqueued
    | QueueConsumed
)

RECORD_CLASSES: dict[str, type[Record]] = {cls.model_fields["type"].default: cls for cls in get_args(Record)}

# Built when it is first used, like every model.
RECORD_ADAPTER: TypeAdapter[Record] = TypeAdapter(
    Annotated[Record, Field(discriminator="type")], config=ConfigDict(defer_build=True)
)

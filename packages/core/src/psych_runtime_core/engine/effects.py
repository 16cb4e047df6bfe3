"""What may be done next. The engine names effects; performers carry them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import ModelTimings, Sent, ToolFailure
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.usage import Cost, Usage

ToolMode = Literal["begin", "run", "probe"]


@dataclass(frozen=True, slots=True)
class Append:
    """Stage these records and ask again at once."""

    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model; brings back `model_call_finished` or what `failed_call` makes of a problem."""

    lane: str
    turn: int
    try_number: int
    model: str


@dataclass(frozen=True, slots=True)
class RunTool:
    """`begin` gates a call and starts it, `run` carries it out, `probe` asks the world what became of it."""

    lane: str
    call_id: ToolCallId
    mode: ToolMode


@dataclass(frozen=True, slots=True)
class Park:
    """Nothing more before `until` unless something arrives; None: until woken."""

    until: datetime | None


@dataclass(frozen=True, slots=True)
class Settle:
    """The end."""

    record: RunSettled


Effect = Append | CallModel | RunTool | Park | Settle


@dataclass(frozen=True, slots=True)
class Done:
    """A lane ended with an answer, which stands in the record `answer_seq`."""

    output: Mapping[str, Json]
    answer_seq: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A lane ended without one."""

    failure: ToolFailure


LaneDecision = tuple[Effect, ...] | Done | Failed


@dataclass(frozen=True, slots=True)
class ModelProblem:
    """What a performer saw of a model call that gave no answer; `begun`: perhaps a part of one."""

    failure: ToolFailure
    usage: Usage | None = None
    cost: Cost | None = None
    timings: ModelTimings = field(default_factory=ModelTimings)
    sent: Sent | None = None
    begun: bool = False

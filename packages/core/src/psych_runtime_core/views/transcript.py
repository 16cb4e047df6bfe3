"""What a log says of each thing it is about: its records, gathered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from psych_runtime_core.arguments import arguments_or_text
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import ToolCall
from psych_runtime_core.records.facts import AnnouncedCall
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import AttemptStarted
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended


@dataclass(slots=True)
class AttemptRecords:
    """An Attempt, and when it last wrote."""

    started: AttemptStarted
    last_at: datetime


@dataclass(slots=True)
class EntryRecords:
    """A message sent to the Run, and the turn that read it."""

    enqueued: QueueEnqueued
    consumed: QueueConsumed | None = None


@dataclass(slots=True)
class WaitRecords:
    """A Wait and its answer."""

    suspended: Suspended
    resumed: Resumed | None = None


@dataclass(slots=True)
class TryRecords:
    """One request to a model. `lost`: the log went on without its end."""

    started: ModelCallStarted
    ended: ModelCallFinished | ModelCallFailed | None = None
    lost: bool = False

    @property
    def finished(self) -> ModelCallFinished | None:
        return self.ended if isinstance(self.ended, ModelCallFinished) else None

    @property
    def failed(self) -> ModelCallFailed | None:
        return self.ended if isinstance(self.ended, ModelCallFailed) else None

    @property
    def is_open(self) -> bool:
        return self.ended is None and not self.lost


@dataclass(slots=True)
class CallRecords:
    """A tool call: the answer that announced it, its Waits, every start of it, its result.

    `written` is the call as the model wrote it, None once that is erased; `ordinal` counts from 0.
    """

    answer: ModelCallFinished
    ordinal: int
    written: ToolCall | None
    waits: list[WaitRecords] = field(default_factory=list[WaitRecords])
    starts: list[ToolCallStarted] = field(default_factory=list[ToolCallStarted])
    finished: ToolCallFinished | None = None

    @property
    def call_id(self) -> ToolCallId:
        return self.announced.call_id

    @property
    def announced(self) -> AnnouncedCall:
        return self.answer.calls[self.ordinal]

    @property
    def started(self) -> ToolCallStarted | None:
        """The newest start."""
        return self.starts[-1] if self.starts else None

    @property
    def wait(self) -> WaitRecords | None:
        """The newest Wait."""
        return self.waits[-1] if self.waits else None

    @property
    def tool(self) -> str:
        """What was called, as the newest record about it says."""
        about = self.finished or self.started or (self.wait and self.wait.suspended)
        return about.tool if about else self.announced.name

    @property
    def announced_arguments(self) -> Json:
        """What the model asked for: an object, or the raw text where that is none; None once erased."""
        return arguments_or_text(self.written.arguments) if self.written else None

    @property
    def arguments(self) -> Json:
        """What runs: the arguments a person put in place of the announced ones, else those."""
        edited = next((start.arguments for start in self.starts if start.arguments is not None), None)
        return self.announced_arguments if edited is None else edited

    def is_dangling(self, epoch: int) -> bool:
        """Whether an Attempt before that of `epoch` began it, and its end was not seen."""
        return self.finished is None and self.started is not None and self.started.epoch < epoch


@dataclass(slots=True)
class TurnRecords:
    """A turn: its tries, oldest first, and the calls that the last of them announced."""

    started: TurnStarted
    tries: list[TryRecords] = field(default_factory=list[TryRecords])
    calls: Sequence[CallRecords] = ()

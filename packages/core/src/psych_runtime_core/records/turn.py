"""Turns and model calls."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from psych_runtime_core.content import Content
from psych_runtime_core.messages import AssistantMessage, FinishReason, ToolCall
from psych_runtime_core.records.base import Instant, Ordinal, RecordModel, cut_at
from psych_runtime_core.records.facts import AnnouncedCall, ModelTimings, Sent, ToolFailure
from psych_runtime_core.usage import Cost, Usage

ModelName = Annotated[str, Field(min_length=1, max_length=256)]
NO_MESSAGE = {"source": {"provider": "", "model": ""}}


class TurnStarted(RecordModel):
    """A lane begins a turn: one model call and the tool calls it asks for.

    `repair` says what was wrong with the answer before, which the model is asked for again.
    """

    type: Literal["turn_started"] = "turn_started"
    turn: Ordinal
    repair: Annotated[Annotated[str, cut_at(8_192)] | None, Content()] = None


class ModelCallStarted(RecordModel):
    """A request to a model is about to be sent."""

    type: Literal["model_call_started"] = "model_call_started"
    turn: Ordinal
    try_number: Ordinal
    model: ModelName


class ModelCallFinished(RecordModel):
    """A model's answer, whole. It announces every call of it and judges none."""

    type: Literal["model_call_finished"] = "model_call_finished"
    turn: Ordinal
    try_number: Ordinal
    model: ModelName
    message: Annotated[AssistantMessage, Content(NO_MESSAGE)]
    calls: Annotated[tuple[AnnouncedCall, ...], Field(max_length=256)] = ()
    finish_reason: FinishReason
    raw_finish_reason: str | None = None
    usage: Usage | None = None
    cost: Cost | None = None
    timings: ModelTimings = ModelTimings()
    sent: Sent
    served_model: str | None = None
    response_id: str | None = None
    service_tier: str | None = None

    @model_validator(mode="after")
    def _announces_each_call(self) -> ModelCallFinished:
        said = [call.id for call in self.message.tool_calls]
        if not self.erased and said != [call.call_id for call in self.calls]:
            raise ValueError("the calls announced are not those of the message")
        return self

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def reasoning(self) -> str:
        return self.message.reasoning

    @property
    def refusal(self) -> str:
        return self.message.refusal

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self.message.tool_calls

    @property
    def usage_reported(self) -> bool:
        return self.usage is not None


class ModelCallFailed(RecordModel):
    """A try that gave no answer, and what follows: another at `retry_at` (None: at once), or the end.

    `begun`: the provider may have begun to answer, which costs; without a `cost` it is not known how much.
    """

    type: Literal["model_call_failed"] = "model_call_failed"
    turn: Ordinal
    try_number: Ordinal
    model: ModelName
    failure: ToolFailure
    next: Literal["retry", "stop"]
    retry_at: Instant | None = None
    next_model: ModelName | None = None
    begun: bool = False
    usage: Usage | None = None
    cost: Cost | None = None
    timings: ModelTimings = ModelTimings()
    sent: Sent | None = None

    @model_validator(mode="after")
    def _retry_names_a_model(self) -> ModelCallFailed:
        if (self.next == "retry") != (self.next_model is not None):
            raise ValueError("a retry names the next model, and nothing else does")
        if self.retry_at is not None and self.next != "retry":
            raise ValueError("only a retry has a moment")
        return self

    @property
    def will_retry(self) -> bool:
        return self.next == "retry"

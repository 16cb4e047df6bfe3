"""What a model is told and what it says; a tool as it is offered; what a call used and cost."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, Inexact
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from psych_runtime_core.errors import ConversationError
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import JsonObject, without_surrogates


def _clean(value: object) -> object:
    return without_surrogates(value) if isinstance(value, str) else value


WireText = Annotated[str, BeforeValidator(_clean)]


class MessageModel(BaseModel):
    """The base of every message, part and figure: frozen, hashable, closed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FinishReason(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"


class TextPart(MessageModel):
    """Text of a message."""

    type: Literal["text"] = "text"
    text: WireText


class ReasoningPart(MessageModel):
    """What a model thought aloud; it goes back to an equal source only."""

    type: Literal["reasoning"] = "reasoning"
    text: WireText


class RefusalPart(MessageModel):
    """A model's refusal, in its words."""

    type: Literal["refusal"] = "refusal"
    text: WireText


class ToolCall(MessageModel):
    """A call as the model wrote it: `id` is ours, `arguments` the raw text, `provider_id` never a key."""

    type: Literal["tool_call"] = "tool_call"
    id: ToolCallId
    name: WireText
    arguments: WireText = ""
    provider_id: WireText | None = None


AssistantPart = Annotated[TextPart | ReasoningPart | RefusalPart | ToolCall, Field(discriminator="type")]


class ModelSource(MessageModel):
    """Which provider and model made a message."""

    provider: str
    model: str


class SystemMessage(MessageModel):
    """The system prompt: at most one, first."""

    role: Literal["system"] = "system"
    content: WireText = Field(min_length=1)


class UserMessage(MessageModel):
    """What a person, or the Run itself, tells the model."""

    role: Literal["user"] = "user"
    content: WireText = Field(min_length=1)


class AssistantMessage(MessageModel):
    """What a model said, its parts in the order it made them."""

    role: Literal["assistant"] = "assistant"
    parts: tuple[AssistantPart, ...] = ()
    source: ModelSource

    @property
    def text(self) -> str:
        """The text; of a message that is nothing but a refusal, the refusal."""
        return self._joined(TextPart) or self._joined(RefusalPart)

    @property
    def reasoning(self) -> str:
        return self._joined(ReasoningPart)

    @property
    def refusal(self) -> str:
        return self._joined(RefusalPart)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    def _joined(self, kind: type[TextPart | ReasoningPart | RefusalPart]) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, kind))


class ToolResultMessage(MessageModel):
    """The one result of a call."""

    role: Literal["tool"] = "tool"
    call_id: ToolCallId
    name: WireText
    content: WireText
    is_error: bool = False


Message = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolResultMessage, Field(discriminator="role")
]


def check_conversation(messages: Sequence[Message]) -> None:
    """Raise `ConversationError` unless a strict provider would take `messages`.

    One system message, first; each call answered by one result, in call order, right after its message;
    ids unique; no assistant message without text or call.
    """
    seen: set[str] = set()
    due: list[str] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolResultMessage):
            if not due or due.pop(0) != message.call_id:
                raise ConversationError(
                    index, f"a result of {message.call_id}, which is not the next open call"
                )
            continue
        if due:
            raise ConversationError(index, f"{message.role} message before the result of {due[0]}")
        if isinstance(message, SystemMessage) and index:
            raise ConversationError(index, "a system message that is not the first")
        if isinstance(message, AssistantMessage):
            due = _announced(index, message, seen)
    if due:
        raise ConversationError(len(messages), f"it ends without the result of {due[0]}")


def _announced(index: int, message: AssistantMessage, seen: set[str]) -> list[str]:
    ids: list[str] = [call.id for call in message.tool_calls]
    if not ids and not message.text:
        raise ConversationError(index, "an assistant message without text or call")
    if len(set(ids)) < len(ids) or seen.intersection(ids):
        raise ConversationError(index, "a call id that stands twice")
    seen.update(ids)
    return ids


# --- tools as they are offered -------------------------------------------------------------------------


class ToolClass(StrEnum):
    """What a tool may do to the world, from least to most."""

    READ_ONLY = "read-only"
    WRITE = "write"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        return list(ToolClass).index(self)


class ToolDefinition(MessageModel):
    """A tool as a model is offered it, and what Psych must know to run it.

    `parameters` is a JSON Schema of an object. `timeout_seconds` bounds one run, None is unbounded.
    """

    name: str
    description: str
    parameters: JsonObject
    strict: bool = False
    annotations: frozenset[ToolClass] = frozenset()
    interruptible: bool = True
    safe_to_retry: bool = False
    timeout_seconds: float | None = None


def class_of(definition: ToolDefinition) -> ToolClass:
    """The highest class that is stated; nothing stated is `write`."""
    return max(definition.annotations, key=lambda stated: stated.rank, default=ToolClass.WRITE)


# --- usage and cost ------------------------------------------------------------------------------------

Tokens = Annotated[int, Field(ge=0)]


class Usage(MessageModel):
    """Tokens of a call. `input` excludes cache reads and writes, `output` includes `reasoning`.

    None is "the provider did not say"; usage that nobody reported is no `Usage` at all.
    """

    input: Tokens
    output: Tokens
    cache_read: Tokens | None = None
    cache_write: Tokens | None = None
    cache_write_1h: Tokens | None = None
    reasoning: Tokens | None = None
    input_audio: Tokens | None = None
    output_audio: Tokens | None = None

    @property
    def prompt(self) -> int:
        return self.input + (self.cache_read or 0) + (self.cache_write or 0)

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=_sum(self.cache_read, other.cache_read),
            cache_write=_sum(self.cache_write, other.cache_write),
            cache_write_1h=_sum(self.cache_write_1h, other.cache_write_1h),
            reasoning=_sum(self.reasoning, other.reasoning),
            input_audio=_sum(self.input_audio, other.input_audio),
            output_audio=_sum(self.output_audio, other.output_audio),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


# Exact or an error: 60 digits hold a million calls of any price that a provider states.
MONEY = Context(prec=60, traps=[Inexact])
CostSource = Literal["computed", "provider", "mixed"]


class Cost(MessageModel):
    """Money, exactly. `source` says who worked it out: us, the provider, or both over several calls."""

    amount: Annotated[Decimal, Field(ge=0)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    model: str | None = None
    source: CostSource = "computed"

    def __add__(self, other: Cost) -> Cost:
        """The sum; two currencies are a `ValueError`."""
        if other.currency != self.currency:
            raise ValueError(f"{self.currency} and {other.currency} cannot be added; total each apart")
        return Cost(
            amount=MONEY.add(self.amount, other.amount),
            currency=self.currency,
            model=self.model if self.model == other.model else None,
            source=self.source if self.source == other.source else "mixed",
        )

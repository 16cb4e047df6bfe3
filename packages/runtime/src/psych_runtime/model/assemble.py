"""A message out of a stream: parts in the order they began, within bounds, or a typed `ModelError`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    ModelSource,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
)
from psych_runtime_core.ports.model import (
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    TextDelta,
    ToolCallDelta,
)

MAX_ANSWER_BYTES = 2 * 1024 * 1024
MAX_CALLS = 256

TextLike: TypeAlias = type[TextPart | ReasoningPart | RefusalPart]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole reply: what the model said, and how its stream ended."""

    message: AssistantMessage
    done: StreamDone


class Assembly:
    """Takes the events of one stream, one by one. `call_id` gives the id of the n-th call, from 0.

    Sizes are of JSON in UTF-8: 2 MiB for an answer, 1 MiB for the arguments of a call; 256 calls. The event
    that goes over a bound raises `answer_too_large`, so a stream can be closed there.
    """

    def __init__(self, source: ModelSource, call_id: Callable[[int], ToolCallId]) -> None:
        self._source, self._call_id = source, call_id
        self._parts: list[_Text | _Call] = []
        self._calls: list[_Call] = []
        self._bytes = 0
        self._done: StreamDone | None = None

    def feed(self, event: object) -> None:
        """Take the next event. Raises `ModelError` for one that breaks a law or a bound."""
        if self._done is not None:
            raise _broken("malformed_event", f"{type(event).__name__} came after the end of the stream")
        match event:
            case TextDelta(text):
                self._more(TextPart, text)
            case ReasoningDelta(text):
                self._more(ReasoningPart, text)
            case RefusalDelta(text):
                self._more(RefusalPart, text)
            case ToolCallDelta():
                self._more_of_a_call(event)
            case StreamDone():
                self._end(event)
            case _:
                what = f"its stream yielded {type(event).__name__}; yield TextDelta(…) and its kin"
                raise ModelError(ModelErrorKind.PERMANENT, what, code="malformed_event")

    def finish(self) -> Answer:
        """The whole reply. Raises the transient `ModelError` `truncated` if the stream had no end."""
        if self._done is None:
            raise _broken("truncated", "the stream stopped without a StreamDone")
        parts = tuple(part.finished() for part in self._parts)
        return Answer(AssistantMessage(parts=parts, source=self._source), self._done)

    def _more(self, kind: TextLike, text: str) -> None:
        if not text:
            return
        self._count(text)
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Text) and last.kind is kind:
            last.pieces.append(text)
        else:
            self._parts.append(_Text(kind, [text]))

    def _more_of_a_call(self, delta: ToolCallDelta) -> None:
        if delta.index == len(self._calls):
            self._begin_call(delta)
        elif not 0 <= delta.index < len(self._calls):
            raise _broken("malformed_event", f"call {delta.index} came before call {len(self._calls)}")
        call = self._calls[delta.index]
        if call.provider_id is None and delta.id is not None:
            self._count(delta.id)
            call.provider_id = delta.id
        call.bytes += self._count(delta.arguments_fragment)
        if call.bytes > MAX_ARGUMENTS_BYTES:
            raise _too_large(f"the arguments of one call have over {MAX_ARGUMENTS_BYTES} bytes")
        call.fragments.append(delta.arguments_fragment)

    def _begin_call(self, delta: ToolCallDelta) -> None:
        if not delta.name:
            raise _broken("nameless_call", f"call {delta.index} began without the name of a tool")
        if len(self._calls) == MAX_CALLS:
            raise _too_large(f"it has over {MAX_CALLS} tool calls")
        self._count(delta.name)
        call = _Call(self._call_id(delta.index), delta.name)
        self._calls.append(call)
        self._parts.append(call)

    def _end(self, done: StreamDone) -> None:
        for text in (done.raw_finish_reason, done.served_model, done.response_id):
            self._count(text or "")
        self._done = done

    def _count(self, text: str) -> int:
        size = len(encode_json(text)) - len('""')
        self._bytes += size
        if self._bytes > MAX_ANSWER_BYTES:
            raise _too_large(f"it has over {MAX_ANSWER_BYTES} bytes")
        return size


@dataclass(slots=True)
class _Text:
    kind: TextLike
    pieces: list[str]

    def finished(self) -> AssistantPart:
        return self.kind(text="".join(self.pieces))


@dataclass(slots=True)
class _Call:
    id: ToolCallId
    name: str
    provider_id: str | None = None
    fragments: list[str] = field(default_factory=list[str])
    bytes: int = 0

    def finished(self) -> AssistantPart:
        arguments = "".join(self.fragments)
        return ToolCall(id=self.id, name=self.name, arguments=arguments, provider_id=self.provider_id)


def _broken(code: str, what: str) -> ModelError:
    return ModelError(ModelErrorKind.TRANSIENT, f"{what}; the call can be made again", code=code)


def _too_large(what: str) -> ModelError:
    message = f"the answer is too large: {what}; ask for less at a time"
    return ModelError(ModelErrorKind.PERMANENT, message, code="answer_too_large")

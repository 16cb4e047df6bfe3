"""A message out of a stream: parts in the order they began, within bounds, or a typed `ModelError`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from psych_runtime.model.answer_parts import OpenCall, OpenText, TextLike, media_part
from psych_runtime.model.errors.table import advice
from psych_runtime.model.values import MAX_VALUES, too_many
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES
from psych_runtime_core.errors import ModelError, ModelErrorKind, NotJson
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import Json, decode_json, encode_json, freeze, json_text, without_surrogates
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    ModelSource,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
)
from psych_runtime_core.ports.model import (
    MediaDelta,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    TextDelta,
    ToolCallDelta,
)

MAX_ANSWER_BYTES = 2 * 1024 * 1024
MAX_CALLS = 256
MAX_MEDIA_BYTES = 20 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole reply: what the model said, how its stream ended, and about how many bytes it has as JSON."""

    message: AssistantMessage
    done: StreamDone
    size: int


class Assembly:
    """Takes the events of one stream, one by one. `call_id` gives the id of the n-th call, from 0.

    Sizes are of JSON in UTF-8: 2 MiB for an answer without its media, 1 MiB for the arguments of a call, 20
    MiB for one media; 256 calls; 131,072 values in each piece of private matter. The event that goes over a
    bound raises `answer_too_large`, so a stream can be closed there.
    """

    def __init__(self, source: ModelSource, call_id: Callable[[int], ToolCallId]) -> None:
        self._source, self._call_id = source, call_id
        self._parts: list[OpenText | OpenCall | AssistantPart] = []
        self._calls: list[OpenCall] = []
        self._bytes = 0
        self._media_bytes = 0
        self._done: StreamDone | None = None

    def feed(self, event: object) -> None:
        """Take the next event. Raises `ModelError` for one that breaks a law or a bound."""
        if self._done is not None:
            raise _broken("malformed_event", f"{type(event).__name__} came after the end of the stream")
        match event:
            case TextDelta(text, opaque):
                self._more(TextPart, text, opaque)
            case ReasoningDelta(text, opaque):
                self._more(ReasoningPart, text, opaque)
            case RefusalDelta(text):
                self._more(RefusalPart, text)
            case ToolCallDelta():
                self._more_of_a_call(event)
            case MediaDelta():
                self._media(event)
            case OpaqueDelta(kind, opaque):
                self._count(kind)
                self._parts.append(OpaquePart(kind=kind, opaque=self._private(opaque)))
            case StreamDone():
                self._end(event)
            case _:
                raise _lawless(f"its stream yielded {type(event).__name__}; yield TextDelta(…) and its kin")

    def finish(self) -> Answer:
        """The whole reply. Raises the transient `ModelError` `truncated` if the stream had no end."""
        if self._done is None:
            raise _broken("truncated", "The stream stopped without a StreamDone")
        parts = tuple(
            part.finished() if isinstance(part, OpenText | OpenCall) else part for part in self._parts
        )
        message = AssistantMessage(parts=parts, source=self._source)
        return Answer(message, self._done, self._bytes + self._media_bytes)

    def _more(self, kind: TextLike, text: str, opaque: Json = None) -> None:
        if not text and opaque is None:
            return
        self._count(text)
        last = self._parts[-1] if self._parts else None
        if not (isinstance(last, OpenText) and last.takes(kind)):
            last = OpenText(kind)
            self._parts.append(last)
        last.pieces.append(text)
        if opaque is not None:
            last.opaque = self._private(opaque)

    def _more_of_a_call(self, delta: ToolCallDelta) -> None:
        if delta.index == len(self._calls):
            self._begin_call(delta)
        elif not 0 <= delta.index < len(self._calls):
            raise _broken("malformed_event", f"Call {delta.index} came before call {len(self._calls)}")
        call = self._calls[delta.index]
        if call.provider_id is None and delta.id is not None:
            self._count(delta.id)
            call.provider_id = delta.id
        call.bytes += self._count(delta.arguments_fragment)
        if call.bytes > MAX_ARGUMENTS_BYTES:
            raise _too_large(f"the arguments of one call have over {MAX_ARGUMENTS_BYTES} bytes")
        call.fragments.append(delta.arguments_fragment)
        if delta.opaque is not None:
            call.opaque = self._private(delta.opaque)

    def _begin_call(self, delta: ToolCallDelta) -> None:
        if not delta.name:
            raise _broken("nameless_call", f"Call {delta.index} began without the name of a tool")
        if len(self._calls) == MAX_CALLS:
            raise _too_large(f"it has over {MAX_CALLS} tool calls")
        self._count(delta.name)
        call = OpenCall(self._call_id(delta.index), delta.name)
        self._calls.append(call)
        self._parts.append(call)

    def _media(self, delta: MediaDelta) -> None:
        data = len(delta.media.data or b"")
        # As base64, three bytes are four characters.
        self._media_bytes += data + (data + 2) // 3
        if (delta.media.size_bytes or 0) > MAX_MEDIA_BYTES:
            raise _too_large(f"one of its media has over {MAX_MEDIA_BYTES} bytes")
        for text in (delta.media.url, delta.media.blob_key, delta.name):
            self._count(text or "")
        self._parts.append(media_part(delta))

    def _end(self, done: StreamDone) -> None:
        for text in (done.raw_finish_reason, done.served_model, done.response_id, done.service_tier):
            self._count(text or "")
        self._done = done

    def _private(self, opaque: Json) -> Json:
        """Provider matter, counted and such as a record can hold."""
        if too_many(opaque):
            raise _too_large(f"private matter in it has over {MAX_VALUES} values")
        try:
            text = json_text(freeze(opaque, surrogates=True))
            whole = without_surrogates(text)
            kept = freeze(decode_json(whole))
        except (NotJson, ValueError) as refused:
            raise _lawless(f"opaque matter cannot be kept: {refused}") from None
        self._add(len(whole.encode()))
        return kept

    def _count(self, text: str) -> int:
        return self._add(len(encode_json(text)) - len('""'))

    def _add(self, size: int) -> int:
        self._bytes += size
        if self._bytes > MAX_ANSWER_BYTES:
            raise _too_large(f"it has over {MAX_ANSWER_BYTES} bytes")
        return size


def _broken(code: str, what: str) -> ModelError:
    return _told(ModelErrorKind.TRANSIENT, what, code)


def _lawless(what: str) -> ModelError:
    return ModelError(ModelErrorKind.PERMANENT, what, code="malformed_event")


def _too_large(what: str) -> ModelError:
    return _told(ModelErrorKind.PERMANENT, f"The answer is too large: {what}", "answer_too_large")


def _told(kind: ModelErrorKind, what: str, code: str) -> ModelError:
    cure = advice(kind, code).format(provider="the provider")
    return ModelError(kind, f"{what}. {cure}", code=code)

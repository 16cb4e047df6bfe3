"""Replies of a provider of chat completions, for tests: their chunks, and what is read out of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.testing.assemble import assemble
from psych_runtime_core.messages import AssistantMessage, OpaquePart, ReasoningPart, RefusalPart, TextPart
from psych_runtime_core.ports.model import StreamDone, StreamEvent

ERRORS = CallErrors(provider="acme", model="large", secrets=("sk-secret",))
Chunk = dict[str, Any]
NO_CHOICES: Chunk = {"choices": []}


def choice(**fields: object) -> Chunk:
    return {"id": "c1", "model": "large", "choices": [{"index": 0, **fields}]}


def delta(**fields: object) -> Chunk:
    return choice(delta=fields)


def text(content: object) -> Chunk:
    return delta(content=content)


def calls(*entries: object) -> Chunk:
    return delta(tool_calls=list(entries))


def call(
    index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: object = None
) -> Chunk:
    """An entry of `tool_calls` that leaves out what is None."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    outer = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return {**outer, "function": function}


def finish(word: object = "stop", **fields: object) -> Chunk:
    return {**choice(delta={}, finish_reason=word), **fields}


def events_of(
    *chunks: object, done: bool = True, headers: Mapping[str, str] | None = None
) -> list[StreamEvent]:
    """All events of a reply that ends with `[DONE]`, or without."""
    stream = ChatStream(ERRORS, headers or {})
    return [*(event for chunk in chunks for event in stream.feed(chunk)), *stream.end(done)]


@dataclass(frozen=True, slots=True)
class Read:
    """A reply as it was understood."""

    message: AssistantMessage
    end: StreamDone

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The kind of each part that can be read, and what it says; of a call the name and its arguments."""
        return [_shown(part) for part in self.message.parts]

    @property
    def calls(self) -> list[tuple[str, str, str | None]]:
        return [(one.name, one.arguments, one.provider_id) for one in self.message.tool_calls]

    @property
    def replayed(self) -> list[object]:
        """The private matter of each part that has some."""
        kept: list[object] = [getattr(part, "opaque", None) for part in self.message.parts]
        return [opaque for opaque in kept if opaque is not None]


def read(*chunks: object, done: bool = True, headers: Mapping[str, str] | None = None) -> Read:
    events = events_of(*chunks, done=done, headers=headers)
    end = events[-1]
    assert isinstance(end, StreamDone)
    return Read(assemble(events), end)


def money(read_back: Read) -> Decimal | None:
    """What a call cost by its provider, in US dollars."""
    cost = read_back.end.cost
    if cost is None:
        return None
    assert (cost.currency, cost.source) == ("USD", "provider")
    return cost.amount


def _shown(part: object) -> tuple[str, str]:
    match part:
        case TextPart(text=said) | ReasoningPart(text=said) | RefusalPart(text=said):
            return part.type, said
        case OpaquePart(kind=kind):
            return "opaque", kind
        case _:
            return _named(part)


def _named(part: object) -> tuple[str, str]:
    media = getattr(part, "media", None)
    if media is not None:
        return "image", media.url or media.media_type
    return "call", f"{getattr(part, 'name', '')}{getattr(part, 'arguments', '')}"

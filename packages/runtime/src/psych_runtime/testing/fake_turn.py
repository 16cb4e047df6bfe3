"""What a scripted answer says, and how it is cut into the events of a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from psych_runtime_core.jsonvalue import Json, without_surrogates
from psych_runtime_core.messages import FinishReason, Media
from psych_runtime_core.ports.model import (
    MediaDelta,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime_core.usage import Cost, Usage

DEFAULT_USAGE = Usage(input=10, output=5)

Text: TypeAlias = str | Sequence[str]
_WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class ToolCallScript:
    """A call of a scripted answer: `arguments`, or `raw_arguments` for malformed ones.

    `fragments` are the pieces in which the wire text is sent; `call_id` is the provider's id, `opaque` its
    own mark on the call. Raises `ValueError`, and `TypeError` for arguments that are no JSON.
    """

    name: str
    arguments: Mapping[str, Json] | None = None
    raw_arguments: str | None = None
    call_id: str | None = None
    fragments: Sequence[str] | None = None
    opaque: Json = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a call needs the name of a tool")
        if (self.arguments is None) == (self.raw_arguments is None):
            raise ValueError(f"call of {self.name}: give arguments or raw_arguments, one of them")
        wire_text = self.wire_text
        if self.fragments is not None and "".join(self.fragments) != wire_text:
            raise ValueError(f"call of {self.name}: fragments must join to {wire_text!r}")

    @property
    def wire_text(self) -> str:
        """The arguments as the model writes them."""
        if self.raw_arguments is not None:
            return self.raw_arguments
        return json.dumps(self.arguments, ensure_ascii=False, allow_nan=False)


CallLike: TypeAlias = ToolCallScript | tuple[str, Mapping[str, Json]]
MediaLike: TypeAlias = Media | MediaDelta


@dataclass(frozen=True, slots=True)
class FakeTurn:
    """One answer. A `str` is cut at words, a sequence is sent in its own chunks; both join to themselves.

    `opaque` is the provider's own mark: on the reasoning, else on the text, else a part of its own. A media
    with a name is a `MediaDelta`. `usage` None is unreported; `finish_reason` None is what the content
    implies; `delay` is the silence before the first event, in seconds.
    """

    text: Text = ""
    tool_calls: Sequence[CallLike] = ()
    reasoning: Text | None = None
    refusal: str | None = None
    opaque: Json = None
    media: Sequence[MediaLike] = ()
    usage: Usage | None = DEFAULT_USAGE
    cost: Cost | None = None
    finish_reason: FinishReason | None = None
    delay: float = 0.0

    @property
    def rest(self) -> float:
        """Once it speaks it says all at once."""
        return 0.0

    def __post_init__(self) -> None:
        if not self.delay >= 0:
            raise ValueError(f"delay is {self.delay} seconds; give 0 or more")
        self.calls()  # one that cannot be sent is refused here and not in the middle of a test

    def calls(self) -> tuple[ToolCallScript, ...]:
        """The tool calls, each as its script."""
        return tuple(
            call if isinstance(call, ToolCallScript) else ToolCallScript(*call) for call in self.tool_calls
        )

    def events(self) -> Iterator[StreamEvent]:
        """The stream: reasoning, text, refusal, media, calls, the end."""
        reasoning = list(map(ReasoningDelta, chunks(self.reasoning or "")))
        text = list(map(TextDelta, chunks(self.text)))
        yield from self._marked(reasoning, text)
        yield from map(RefusalDelta, chunks(self.refusal or ""))
        for media in self.media:
            yield media if isinstance(media, MediaDelta) else MediaDelta(media)
        for index, call in enumerate(self.calls()):
            yield from _deltas(index, call)
        yield StreamDone(self.finish_reason or self._implied(), usage=self.usage, cost=self.cost)

    def _marked(self, reasoning: list[ReasoningDelta], text: list[TextDelta]) -> list[StreamEvent]:
        if self.opaque is None:
            return [*reasoning, *text]
        if reasoning:
            return [*reasoning[:-1], replace(reasoning[-1], opaque=self.opaque), *text]
        if text:
            return [*text[:-1], replace(text[-1], opaque=self.opaque)]
        return [OpaqueDelta("fake", self.opaque)]

    def _implied(self) -> FinishReason:
        if self.tool_calls:
            return FinishReason.TOOL_CALLS
        return FinishReason.REFUSAL if self.refusal and not any(self.text) else FinishReason.STOP


def chunks(text: Text) -> Iterator[str]:
    """`text` in the pieces of its deltas: none is empty, none holds half a character."""
    pieces = _WORDS.findall(without_surrogates(text)) if isinstance(text, str) else _whole_characters(text)
    return filter(None, pieces)


def _whole_characters(pieces: Iterable[str]) -> Iterator[str]:
    half = ""
    for piece in pieces:
        text = half + piece
        half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        yield without_surrogates(text.removesuffix(half))
    yield without_surrogates(half)


def _deltas(index: int, call: ToolCallScript) -> Iterator[ToolCallDelta]:
    pieces = chunks(call.wire_text if call.fragments is None else call.fragments)
    yield ToolCallDelta(index, call.call_id, without_surrogates(call.name), next(pieces, ""), call.opaque)
    for piece in pieces:
        yield ToolCallDelta(index, arguments_fragment=piece)

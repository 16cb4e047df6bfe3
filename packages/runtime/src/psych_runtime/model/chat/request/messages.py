"""A conversation as one provider's wire takes it, one message after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from psych_runtime.model.chat.dialects import Dialect
from psych_runtime.model.chat.request.json_bytes import wire_bytes, wire_text
from psych_runtime.model.chat.request.limits import check_media, check_system
from psych_runtime.model.chat.request.media import Block, media_block
from psych_runtime.model.chat.request.replay import call_extras, content_blocks, reasoning_fields
from psych_runtime.model.chat.request.wire_ids import WireIds
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, Json, decode_json
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    ImagePart,
    Message,
    ModelSource,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime_core.ports.model import ModelCapabilities

MAX_MALFORMED = 2_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What decides how a conversation is written: equal terms, equal bytes. `source` is who is asked."""

    dialect: Dialect
    capabilities: ModelCapabilities
    source: ModelSource


@dataclass(slots=True)
class WireConversation:
    """Takes in messages and writes each at once; what it wrote never changes.

    `pieces[i]` holds what message `i` became: one message of the wire, or more with a comma between.
    """

    terms: Terms
    pieces: list[bytes] = field(default_factory=list[bytes])
    _ids: WireIds = field(init=False)
    _open_calls: int = 0
    _media: int = 0
    _moved: list[Block] = field(default_factory=list[Block])
    _thought_in: str | None = None

    def __post_init__(self) -> None:
        self._ids = WireIds(self.terms.dialect.call_ids)

    def take(self, message: Message) -> None:
        """Write `message`. Raises `Unsendable`, after which this conversation is of no use."""
        written = [*self._written(message), *self._released()]
        self.pieces.append(b",".join(map(wire_bytes, written)))

    def _written(self, message: Message) -> list[Block]:
        match message:
            case SystemMessage(content=content):
                check_system(len(content.encode()))
                return [{"role": "system", "content": self._text(content)}]
            case UserMessage():
                named: Block = {} if message.name is None else {"name": message.name}
                return [{"role": "user", **named, "content": self._content(message)}]
            case AssistantMessage():
                return [self._answer(message)]
            case ToolResultMessage():
                return [self._result(message)]

    # --- content ---------------------------------------------------------------------------------------

    def _text(self, text: str) -> Json:
        """Text as content: as a list of one where a mark may have to stand on it."""
        return [_text_block(text)] if text and self.terms.capabilities.cache == "breakpoints" else text

    def _content(self, message: UserMessage | ToolResultMessage) -> Json:
        if isinstance(message.content, str) or not _media_of(message.content):
            return self._text(message.text)
        return [self._block(part) for part in message.content]

    def _block(self, part: TextPart | ImagePart | FilePart) -> Block:
        if isinstance(part, TextPart):
            return _text_block(part.text)
        self._media += 1
        check_media(self._media)
        return media_block(part)

    # --- answers and results ---------------------------------------------------------------------------

    def _answer(self, message: AssistantMessage) -> Block:
        own = message.source == self.terms.source
        replayed = own and self._replays(message)
        blocks = content_blocks(message) if replayed else None
        content = self._text(message.text) if blocks is None else blocks
        answer: Block = {"role": "assistant", "content": content}
        if replayed:
            answer.update(self._reasoning(message))
        if message.tool_calls:
            answer["tool_calls"] = [self._call(call, own) for call in message.tool_calls]
        self._open_calls = len(message.tool_calls)
        self._move("From the assistant:", _media_of(message.parts))
        return answer

    def _replays(self, message: AssistantMessage) -> bool:
        replay = self.terms.dialect.reasoning_replay
        return replay == "always" or (replay == "tool_turns" and bool(message.tool_calls))

    def _reasoning(self, message: AssistantMessage) -> Mapping[str, Json]:
        """The fields of its reasoning; an empty one where a provider wants each turn to show its own."""
        fields = reasoning_fields(message)
        if self.terms.dialect.reasoning_replay == "tool_turns":
            texts = [name for name, value in fields.items() if isinstance(value, str)]
            self._thought_in = texts[0] if texts else self._thought_in
            if not fields and self._thought_in is not None:
                return {self._thought_in: ""}
        return fields

    def _call(self, call: ToolCall, own: bool) -> Block:
        beside, inside = call_extras(call) if own else (EMPTY_OBJECT, EMPTY_OBJECT)
        function: Block = {"name": call.name, "arguments": _arguments(call.arguments), **inside}
        return {"id": self._ids.announce(call, own=own), "type": "function", "function": function, **beside}

    def _result(self, message: ToolResultMessage) -> Block:
        if self.terms.capabilities.tool_result_media:
            content = self._content(message)
        else:
            content = self._text(message.text)
            self._move(f"From {message.name}:", _media_of(message.content))
        self._open_calls -= 1
        return {"role": "tool", "tool_call_id": self._ids.of_result(message.call_id), "content": content}

    # --- media that the role of its message cannot carry -----------------------------------------------

    def _move(self, heading: str, media: Iterable[ImagePart | FilePart]) -> None:
        blocks = [self._block(part) for part in media]
        if blocks:
            self._moved += [_text_block(heading), *blocks]

    def _released(self) -> list[Block]:
        """The user message of all moved media, once no call waits for its result."""
        if self._open_calls > 0 or not self._moved:
            return []
        content, self._moved = self._moved, []
        return [{"role": "user", "content": content}]


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def _media_of(parts: str | tuple[AssistantPart, ...]) -> list[ImagePart | FilePart]:
    return [part for part in parts if isinstance(part, ImagePart | FilePart)]


def _arguments(raw: str) -> str:
    """`raw` if it is one JSON object, which is all that strict providers take."""
    if not raw.strip():
        return "{}"
    try:
        if isinstance(decode_json(raw), dict):
            return raw
    except ValueError:
        pass
    return wire_text({"malformed_arguments": raw[:MAX_MALFORMED]})

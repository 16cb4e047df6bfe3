"""What a model is told and what it says; a tool as it is offered."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from psych_runtime_core.errors import ConversationError
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import JsonObject, RecordValue, without_surrogates


def _clean(value: object) -> object:
    return without_surrogates(value) if isinstance(value, str) else value


def _decoded(value: object) -> object:
    return b64decode(value, validate=True) if isinstance(value, str) else value


WireText = Annotated[str, BeforeValidator(_clean)]
MediaBytes = Annotated[
    bytes, BeforeValidator(_decoded), PlainSerializer(lambda data: b64encode(data).decode(), when_used="json")
]


class MessageModel(BaseModel):
    """The base of messages and their parts, of usage and cost: frozen, hashable, closed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class FinishReason(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"


# A host without a user in front of it, and no blank or control character anywhere.
HTTPS_URL = re.compile(r"https://[^\s\x00-\x1f\x7f/?#@]+([/?#][^\s\x00-\x1f\x7f]*)?")
MAX_MEDIA_SIZE = 5 * 1024**3


def _https(url: str) -> str:
    if not HTTPS_URL.fullmatch(url):
        raise ValueError("give an https URL, without a user, blanks or control characters")
    return url


class Media(MessageModel):
    """A picture or a document: its bytes, an https URL, or the key of a blob; exactly one of them.

    Size (bytes) and SHA-256 (hex) are worked out where the bytes are given, and checked where all are.
    """

    media_type: Annotated[str, Field(pattern=r"^[a-z]+/[a-z0-9][a-z0-9.+-]*$", max_length=128)]
    data: MediaBytes | None = None
    url: Annotated[str, Field(max_length=8_192), AfterValidator(_https)] | None = None
    blob_key: Annotated[str, Field(min_length=1, max_length=1_024)] | None = None
    size_bytes: Annotated[int, Field(ge=0, le=MAX_MEDIA_SIZE)] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="before")
    @classmethod
    def _measured(cls, given: object) -> object:
        """`given` with the size and the digest of its bytes, where they are not stated."""
        fields = dict(cast("Mapping[str, object]", given)) if isinstance(given, Mapping) else {}
        data = _decoded(fields.get("data"))
        if not isinstance(data, bytes):
            return given
        return {"size_bytes": len(data), "sha256": sha256(data).hexdigest(), **fields, "data": data}

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        sources = [one for one in (self.data, self.url, self.blob_key) if one is not None]
        if len(sources) != 1:
            raise ValueError(f"media has {len(sources)} sources; give one of data, url, blob_key")
        if self.data is not None and (len(self.data), sha256(self.data).hexdigest()) != (
            self.size_bytes,
            self.sha256,
        ):
            raise ValueError("size_bytes and sha256 are not those of data; leave them out")
        return self


class TextPart(MessageModel):
    """Text of a message. `opaque` is a provider's own mark on it."""

    type: Literal["text"] = "text"
    text: WireText
    opaque: RecordValue | None = None


class ImagePart(MessageModel):
    """A picture."""

    type: Literal["image"] = "image"
    media: Media
    detail: Literal["auto", "low", "high"] = "auto"

    @model_validator(mode="after")
    def _is_a_picture(self) -> Self:
        if not self.media.media_type.startswith("image/"):
            raise ValueError(f"{self.media.media_type} is no picture; give a FilePart")
        return self


class FilePart(MessageModel):
    """A document; audio and video are files of that media type."""

    type: Literal["file"] = "file"
    media: Media
    name: Annotated[WireText, Field(min_length=1, max_length=255)]


class ReasoningPart(MessageModel):
    """What a model thought aloud; it goes back to an equal source only."""

    type: Literal["reasoning"] = "reasoning"
    text: WireText
    opaque: RecordValue | None = None


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
    opaque: RecordValue | None = None


class OpaquePart(MessageModel):
    """Provider matter with no readable form, kept in its place for an equal source."""

    type: Literal["opaque"] = "opaque"
    kind: WireText
    opaque: RecordValue


Part = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]
AssistantPart = Annotated[
    TextPart | ImagePart | FilePart | ReasoningPart | RefusalPart | ToolCall | OpaquePart,
    Field(discriminator="type"),
]
MessageContent = Annotated[WireText, Field(min_length=1)] | Annotated[tuple[Part, ...], Field(min_length=1)]


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
    content: MessageContent
    name: WireText | None = None

    @property
    def text(self) -> str:
        return _text_of(self.content)


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

    @property
    def says_something(self) -> bool:
        """Whether it holds text, a call or media; reasoning alone is no answer."""
        return bool(self.text) or any(
            isinstance(part, ToolCall | ImagePart | FilePart) for part in self.parts
        )

    def _joined(self, kind: type[TextPart | ReasoningPart | RefusalPart]) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, kind))


class ToolResultMessage(MessageModel):
    """The one result of a call."""

    role: Literal["tool"] = "tool"
    call_id: ToolCallId
    name: WireText
    content: WireText | tuple[Part, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        return _text_of(self.content)


def _text_of(content: str | tuple[Part, ...]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if isinstance(part, TextPart))


Message = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolResultMessage, Field(discriminator="role")
]


def check_conversation(messages: Sequence[Message]) -> None:
    """Raise `ConversationError` unless a strict provider would take `messages`.

    One system message, first; each call answered by one result, in call order, right after its message;
    ids unique; no assistant message without text, call or media.
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
    if not message.says_something:
        raise ConversationError(index, "an assistant message without text, call or media")
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

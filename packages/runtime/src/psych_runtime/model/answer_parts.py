"""The parts of an answer while its stream goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import (
    AssistantPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
)
from psych_runtime_core.ports.model import MediaDelta

TextLike: TypeAlias = type[TextPart | ReasoningPart | RefusalPart]
MAX_FILE_NAME = 255


@dataclass(slots=True)
class OpenText:
    """Text of one kind in a row. A provider's mark closes it: what follows is a part of its own."""

    kind: TextLike
    pieces: list[str] = field(default_factory=list[str])
    opaque: Json = None

    def takes(self, kind: TextLike) -> bool:
        """Whether more text of `kind` belongs to this part."""
        return self.kind is kind and self.opaque is None

    def finished(self) -> AssistantPart:
        text = "".join(self.pieces)
        if issubclass(self.kind, RefusalPart):
            return self.kind(text=text)
        return self.kind(text=text, opaque=self.opaque)


@dataclass(slots=True)
class OpenCall:
    """A call, which stands where it began; `bytes` is the size of its arguments so far."""

    id: ToolCallId
    name: str
    provider_id: str | None = None
    fragments: list[str] = field(default_factory=list[str])
    bytes: int = 0
    opaque: Json = None

    def finished(self) -> AssistantPart:
        return ToolCall(
            id=self.id,
            name=self.name,
            arguments="".join(self.fragments),
            provider_id=self.provider_id,
            opaque=self.opaque,
        )


def media_part(delta: MediaDelta) -> AssistantPart:
    """A picture, or a file; one without a name is called after its type."""
    media = delta.media
    if media.media_type.startswith("image/"):
        return ImagePart(media=media)
    name = delta.name or media.media_type.replace("/", ".")
    return FilePart(media=media, name=name[:MAX_FILE_NAME])

"""Pictures and documents that messages show."""

from __future__ import annotations

from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    ImagePart,
    Media,
    Message,
    SystemMessage,
)


def parts_of(message: Message) -> tuple[AssistantPart, ...]:
    """The parts of a message; none where its content is a plain text."""
    if isinstance(message, AssistantMessage):
        return message.parts
    if isinstance(message, SystemMessage) or isinstance(message.content, str):
        return ()
    return message.content


def stored_media(message: Message) -> dict[str, Media]:
    """The media of a message that stand in blobs, by the names of these."""
    shown = (part.media for part in parts_of(message) if isinstance(part, ImagePart | FilePart))
    return {media.blob_key: media for media in shown if media.blob_key is not None}

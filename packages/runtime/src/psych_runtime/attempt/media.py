"""Pictures and documents of a conversation that stand in blobs, with their bytes for one request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from psych_runtime.attempt.last_used import LastUsed
from psych_runtime.attempt.run_blobs import RunBlobs
from psych_runtime.model.errors.table import advice
from psych_runtime_core.engine.media import parts_of, stored_media
from psych_runtime_core.engine.prompt import Origin, Prompt
from psych_runtime_core.errors import BlobCorrupt, BlobNotFound, ModelError, ModelErrorKind, StoreUnavailable
from psych_runtime_core.ids import RunId
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    ImagePart,
    Media,
    Message,
)

P = TypeVar("P", bound=AssistantPart)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A message as the conversation holds it, as it is sent, and the bytes that this took, by their blobs."""

    bare: Message
    message: Message
    data: Mapping[str, bytes] = field(repr=False)


class MediaLoader:
    """Loads the bytes that messages only name. What was loaded is the same object for each later request."""

    def __init__(self, blobs: RunBlobs, kept: LastUsed) -> None:
        self._blobs, self._kept = blobs, kept

    async def loaded(self, prompt: Prompt) -> Prompt:
        """The prompt with all its bytes. Raises `ModelError`: `media_missing`, or transient for a while."""
        if not prompt.media:
            return prompt
        messages = list(prompt.messages)
        for place in prompt.media:
            messages[place] = await self._message(messages[place], prompt.origins[place])
        return replace(prompt, messages=tuple(messages))

    async def _message(self, message: Message, origin: Origin) -> Message:
        held: _Loaded | None = self._kept.get(origin)
        if held is not None and held.bare is message:
            return held.message
        # The newest message of a request has notices behind it, and is another object for the next one.
        known: Mapping[str, bytes] = {} if held is None else held.data
        data = {
            key: known[key] if key in known else await self._bytes(origin.run_id, media)
            for key, media in stored_media(message).items()
        }
        loaded = _Loaded(message, _with(message, data), data)
        self._kept.put(origin, loaded, sum(map(len, data.values())))
        return loaded.message

    async def _bytes(self, run_id: RunId, media: Media) -> bytes:
        key = media.blob_key or ""
        try:
            data = await self._blobs.get(run_id, key)
        except (BlobNotFound, BlobCorrupt) as error:
            raise _missing(key) from error
        except StoreUnavailable as error:
            words = f"The bytes of blob {key} cannot be read now. {advice(ModelErrorKind.TRANSIENT)}"
            raise ModelError(ModelErrorKind.TRANSIENT, words) from error
        if media.sha256 not in {None, hashlib.sha256(data).hexdigest()}:
            raise _missing(key)
        return data


def _missing(key: str) -> ModelError:
    kind, code = ModelErrorKind.PERMANENT, "media_missing"
    return ModelError(kind, f"The bytes of blob {key} are not there. {advice(kind, code)}", code=code)


def _with(message: Message, data: Mapping[str, bytes]) -> Message:
    parts = tuple(_part(part, data) for part in parts_of(message))
    name = "parts" if isinstance(message, AssistantMessage) else "content"
    return message.model_copy(update={name: parts})


def _part(part: P, data: Mapping[str, bytes]) -> P:
    if not isinstance(part, ImagePart | FilePart) or part.media.blob_key is None:
        return part
    media = Media(media_type=part.media.media_type, data=data[part.media.blob_key])
    return cast("P", part.model_copy(update={"media": media}))

"""Pictures, documents and sound, as blocks of a message's content."""

from __future__ import annotations

from base64 import b64encode
from typing import TypeAlias

from psych_runtime.model.chat.request.limits import Unsendable, check_medium
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import FilePart, ImagePart, Media

Block: TypeAlias = dict[str, Json]

# The names under which the wire knows the two kinds of sound that it takes.
_SOUNDS = {
    "audio/mp3": "mp3",
    "audio/mpeg": "mp3",
    "audio/vnd.wave": "wav",
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
}


def media_block(part: ImagePart | FilePart) -> Block:
    """`part` as a block. Raises `Unsendable` for what has none on this wire, and for what is too large."""
    media = part.media
    check_medium(media.size_bytes)
    if media.media_type.startswith("image/"):
        return _image(media, part.detail if isinstance(part, ImagePart) else "auto")
    if isinstance(part, ImagePart) or media.media_type.startswith("video/"):
        raise _no_block(media)
    if media.media_type.startswith("audio/"):
        return _sound(media)
    return {"type": "file", "file": {"filename": part.name, "file_data": _data_url(media)}}


def _image(media: Media, detail: str) -> Block:
    address = media.url or _data_url(media)
    image: Block = {"url": address} if detail == "auto" else {"url": address, "detail": detail}
    return {"type": "image_url", "image_url": image}


def _sound(media: Media) -> Block:
    form = _SOUNDS.get(media.media_type)
    if form is None:
        raise _no_block(media)
    return {"type": "input_audio", "input_audio": {"data": _base64(media), "format": form}}


def _data_url(media: Media) -> str:
    return f"data:{media.media_type};base64,{_base64(media)}"


def _base64(media: Media) -> str:
    if media.url is not None:
        words = f"{media.media_type} goes to this provider as bytes, and only its URL is given."
        raise Unsendable("unsupported_input", words)
    if media.data is None:
        raise Unsendable("media_missing", f"The bytes of blob {media.blob_key} are not there.")
    return b64encode(media.data).decode()


def _no_block(media: Media) -> Unsendable:
    return Unsendable("unsupported_input", f"{media.media_type} is no part of a message for this provider.")

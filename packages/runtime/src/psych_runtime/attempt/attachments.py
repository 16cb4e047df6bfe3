"""The files of a result, as the record of a call keeps them and as the model is shown them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from psych_runtime.tools.convert import Converted
from psych_runtime.tools.output import File
from psych_runtime_core.ids import RunId, ToolCallId, derive_handle
from psych_runtime_core.messages import FilePart, ImagePart, Media
from psych_runtime_core.records.facts import ResultAttachment
from psych_runtime_core.spec.model import InputKind
from psych_runtime_core.spoken import kind_of_part

MAX_INLINE_BYTES = 16 * 1024

# The pictures that models read; any other goes to one that takes documents.
_PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


class Overflow(NamedTuple):
    """What of a result no record holds."""

    size_bytes: int
    limit_bytes: int


def overflow_of(converted: Converted, offload_bytes: int) -> Overflow | None:
    """The first part of a result that is too large for a log: its value, a file, or all files together."""
    sizes = [len(file.data) for file in converted.files]
    parts = [Overflow(len(converted.encoded), offload_bytes)]
    parts += [Overflow(size, MAX_INLINE_BYTES) for size in sizes]
    parts += [Overflow(sum(sizes), offload_bytes // 4)]
    return next((part for part in parts if part.size_bytes > part.limit_bytes), None)


@dataclass(frozen=True, slots=True)
class Attached:
    """All files of a result, and those that the model takes."""

    attachments: tuple[ResultAttachment, ...]
    media: tuple[ImagePart | FilePart, ...]

    @classmethod
    def of(
        cls, files: Sequence[File], call: tuple[RunId, ToolCallId], accepts: Collection[InputKind]
    ) -> Attached:
        """Those of a call's result; the model is shown the kinds that its Spec `accepts`."""
        parts = map(_part, files)
        return cls(
            tuple(_attachment(file, derive_handle(*call, slot)) for slot, file in enumerate(files)),
            tuple(part for part in parts if kind_of_part(part) in accepts),
        )


def _attachment(file: File, handle: str) -> ResultAttachment:
    size = len(file.data)
    return ResultAttachment(
        name=file.name,
        handle=handle,
        content_type=file.media_type,
        size_bytes=size,
        observed_bytes=size,
        data=file.data,
        stored="inline",
        sha256=hashlib.sha256(file.data).hexdigest(),
    )


def _part(file: File) -> ImagePart | FilePart:
    media = Media(media_type=file.media_type, data=file.data)
    return ImagePart(media=media) if file.media_type in _PICTURES else FilePart(media=media, name=file.name)

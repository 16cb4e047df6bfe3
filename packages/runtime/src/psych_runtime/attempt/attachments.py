"""The files of a result, as the record of a call keeps them and as the model is shown them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from psych_runtime.attempt.placing import MAX_INLINE_BYTES, Placing
from psych_runtime.attempt.run_blobs import Blob
from psych_runtime.model.assemble import MAX_MEDIA_BYTES
from psych_runtime.tools.lines import is_text
from psych_runtime.tools.output import File
from psych_runtime_core.messages import FilePart, ImagePart, Media
from psych_runtime_core.records.facts import ResultAttachment
from psych_runtime_core.spec.model import InputKind
from psych_runtime_core.spoken import kind_of_part

# The pictures that models read; any other goes to one that takes documents.
_PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


@dataclass(frozen=True, slots=True)
class Attached:
    """All files of a result, those that the model takes, and those that stand in blobs."""

    attachments: tuple[ResultAttachment, ...]
    media: tuple[ImagePart | FilePart, ...]
    blobs: tuple[Blob, ...]

    @classmethod
    def of(cls, files: Sequence[File], placing: Placing, accepts: Collection[InputKind]) -> Attached:
        """Those of a call's result; the model is shown the kinds that its Spec `accepts`."""
        placed = tuple(_placed(files, placing))
        parts = (_part(one) for one in placed if len(one.file.data) <= MAX_MEDIA_BYTES)
        return cls(
            tuple(_attachment(one, placing.handle(one.slot)) for one in placed),
            tuple(part for part in parts if kind_of_part(part) in accepts),
            tuple(Blob(one.blob, one.file.data, one.file.media_type) for one in placed if one.blob),
        )


@dataclass(frozen=True, slots=True)
class _Placed:
    """A file, the name of its blob where it does not stand in the record, and its digest."""

    slot: int
    file: File
    blob: str | None
    sha256: str


def _placed(files: Sequence[File], placing: Placing) -> Iterator[_Placed]:
    inline = 0
    for slot, file in enumerate(files):
        size = len(file.data)
        stays = size <= MAX_INLINE_BYTES and inline + size <= placing.inline_bytes
        inline += size if stays else 0
        blob = None if stays else placing.blob_name(slot)
        yield _Placed(slot, file, blob, hashlib.sha256(file.data).hexdigest())


def _attachment(placed: _Placed, handle: str) -> ResultAttachment:
    file = placed.file
    size = len(file.data)
    return ResultAttachment(
        name=file.name,
        handle=handle,
        content_type=file.media_type,
        size_bytes=size,
        observed_bytes=size,
        data=None if placed.blob else file.data,
        stored="blob" if placed.blob else "inline",
        sha256=placed.sha256,
        readable=is_text(file.data),
    )


def _part(placed: _Placed) -> ImagePart | FilePart:
    file, told = placed.file, {"size_bytes": len(placed.file.data), "sha256": placed.sha256}
    where = {"blob_key": placed.blob} if placed.blob else {"data": file.data}
    media = Media.model_validate({"media_type": file.media_type, **where, **told})
    return ImagePart(media=media) if file.media_type in _PICTURES else FilePart(media=media, name=file.name)

"""Where the parts of a result are kept, and how much of its value the model is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from psych_runtime.attempt.run_blobs import Blob
from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.convert import Converted
from psych_runtime_core.ids import RunId, ToolCallId, blob_name, derive_handle
from psych_runtime_core.jsonvalue import Json

PREVIEW = 2_000
JSON_TYPE = "application/json"
MAX_INLINE_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Placing:
    """Whose result it is, and over how many bytes it is told in part, and kept in a blob."""

    run_id: RunId
    call_id: ToolCallId
    epoch: int
    large_bytes: int
    offload_bytes: int

    @property
    def inline_bytes(self) -> int:
        """How many bytes of files stand in one record."""
        return self.offload_bytes // 4

    def handle(self, slot: int | None = None) -> str:
        """The handle of the value, or of a file."""
        return derive_handle(self.run_id, self.call_id, slot)

    def blob_name(self, slot: int | None = None) -> str:
        """What the blob of the value, or of a file, is called."""
        return blob_name(self.call_id, self.epoch, slot)


class Overflow(NamedTuple):
    """What of a result no record holds."""

    size_bytes: int
    limit_bytes: int


def overflow_of(converted: Converted, placing: Placing) -> Overflow | None:
    """The first part of a result that is too large for a log: its value, a file, or all files together."""
    sizes = [len(file.data) for file in converted.files]
    parts = [Overflow(len(converted.encoded), placing.offload_bytes)]
    parts += [Overflow(size, MAX_INLINE_BYTES) for size in sizes]
    parts += [Overflow(sum(sizes), placing.inline_bytes)]
    return next((part for part in parts if part.size_bytes > part.limit_bytes), None)


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """The value of a result as its record has it; of a large one a handle and a preview, and maybe a blob."""

    value: Json
    handle: str | None = None
    preview: str | None = None
    blob: Blob | None = None

    @classmethod
    def of(cls, converted: Converted, placing: Placing, masks: Masks) -> PlacedValue:
        size = len(converted.encoded)
        if size <= min(placing.large_bytes, placing.offload_bytes):
            return cls(converted.value)
        handle, preview = placing.handle(), preview_of(converted, masks)
        if size <= placing.offload_bytes:
            return cls(converted.value, handle, preview)
        return cls(None, handle, preview, Blob(placing.blob_name(), converted.encoded, JSON_TYPE))


def preview_of(converted: Converted, masks: Masks) -> str:
    """The beginning of a result, as it reads, masked: no more of it is read than it takes."""
    needed = PREVIEW + masks.reach
    text = (
        converted.value[:needed]
        if isinstance(converted.value, str)
        # No character has more than four bytes; one that is cut in two stands behind those that are shown.
        else converted.encoded[: 4 * needed].decode("utf-8", "ignore")
    )
    return masks.beginning(text, PREVIEW)[:PREVIEW]

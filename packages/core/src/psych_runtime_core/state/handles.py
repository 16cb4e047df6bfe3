"""Results and files of this Run that can be read on, by handle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from psych_runtime_core.ids import ToolCallId, blob_name
from psych_runtime_core.records.tool import ToolCallFinished


@dataclass(frozen=True, slots=True)
class Handle:
    """Where what a handle names stands: in the record `seq`, or in the blob of the Run that it names."""

    seq: int
    call_id: ToolCallId
    size_bytes: int
    blob_key: str | None


def handles_of(record: ToolCallFinished) -> Iterator[tuple[str, Handle]]:
    """Every handle of a result, and what it names."""
    if record.result_handle is not None:
        named = Handle(record.seq, record.call_id, record.result_bytes, record.result_blob_key)
        yield record.result_handle, named
    for slot, file in enumerate(record.attachments):
        if file.stored != "preview_only":
            key = blob_name(record.call_id, record.epoch, slot) if file.stored == "blob" else None
            yield file.handle, Handle(record.seq, record.call_id, file.size_bytes, key)

"""How a blob stands in its file: a line of JSON that says what it is, then the content."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, BinaryIO, cast

from psych_runtime_core.errors import BlobCorrupt
from psych_runtime_core.ids import RunId
from psych_runtime_core.jsonvalue import decode_json, encode_json
from psych_runtime_core.ports.blob import MAX_BLOB_BYTES, BlobKey, BlobMetadata

LONGEST_LINE = 1024 * 1024
"""More than the longest metadata takes, however it is spelled."""
UNKNOWN = "0" * 64
"""The digest of content that is still on its way."""


@dataclass(frozen=True, slots=True)
class Label:
    """The line of a blob. `start` is where the content begins."""

    key: BlobKey
    known: BlobMetadata
    start: int = 0

    def line(self) -> bytes:
        """As wide for any content."""
        widest = self.known.model_copy(update={"size": MAX_BLOB_BYTES, "sha256": UNKNOWN})
        width = len(_document(self.key, widest))
        return _document(self.key, self.known).ljust(width) + b"\n"


def read_label(file: BinaryIO, where: object) -> Label:
    """The label at the beginning of a file. Raises `BlobCorrupt` for what is none."""
    line = file.readline(LONGEST_LINE)
    try:
        document = cast("dict[str, Any]", decode_json(line))
        tenant, run_id, call_id = document["blob"]["key"]
        key = BlobKey(tenant, RunId(run_id), call_id)
        known = BlobMetadata.model_validate(document["blob"]["known"])
    except (ValueError, TypeError, KeyError) as error:
        raise BlobCorrupt(where, "its label cannot be read") from error
    if _document(key, known) != line.strip():
        raise BlobCorrupt(where, "its label was damaged")
    return Label(key, known, len(line))


def _document(key: BlobKey, known: BlobMetadata) -> bytes:
    blob = {
        "key": [key.tenant, key.run_id, key.call_id],
        "known": known.model_dump(mode="json"),
    }
    return encode_json({"blob": blob, "sha256": sha256(encode_json(blob)).hexdigest()})

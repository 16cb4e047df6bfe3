"""The form of a sealed blob: frames of content, each sealed in its place, then a sealed table of contents."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterable, Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from psych_runtime_core.errors import BlobCorrupt, BlobNotFound
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata, pieces
from psych_runtime_core.records.base import Count
from psych_runtime_core.records.codec import Codec
from psych_runtime_core.scope import Scope

FRAME_BYTES = 64 * 1024
LENGTH_BYTES = 8
"""A blob ends with the length of its table, in so many bytes."""

TABLE = -1
"""The place of the table, which is behind all frames however many there are."""


class Table(BaseModel):
    """What a sealed blob holds. `frames` are the sealed lengths, `size` and `sha256` those of the content."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    content_type: str
    metadata: Mapping[str, str]
    size: Count
    sha256: str
    frames: tuple[Count, ...]

    def told(self, stored: BlobMetadata) -> BlobMetadata:
        """The metadata of the content, of a blob that is stored as `stored`."""
        return BlobMetadata(
            size=self.size,
            content_type=self.content_type,
            sha256=self.sha256,
            metadata=self.metadata,
            created_at=stored.created_at,
        )


class Seal:
    """Seals and opens what stands at a place of one blob."""

    def __init__(self, codec: Codec, key: BlobKey) -> None:
        self._codec, self._key = codec, key

    def table(self, sealed: bytes) -> Table:
        """The table of the blob. Raises `BlobCorrupt`, and `BlobNotFound` where its key is destroyed."""
        document = self.opened(sealed, TABLE)
        try:
            return Table.model_validate_json(document)
        except ValidationError as error:
            raise BlobCorrupt(self._key, "its table of contents cannot be read") from error

    def sealed(self, content: bytes, place: int) -> bytes:
        return self._codec.seal(content, scope=Scope(tenant=self._key.tenant), bound=self._bound(place))

    def opened(self, sealed: bytes, place: int) -> bytes:
        try:
            content = self._codec.open(sealed, scope=Scope(tenant=self._key.tenant), bound=self._bound(place))
        except ValueError as error:
            raise BlobCorrupt(self._key, "its seal is broken") from error
        if content is None:
            raise BlobNotFound(self._key)
        return content

    def _bound(self, place: int) -> bytes:
        key = self._key
        return encode_json(["blob", key.tenant, key.run_id, key.call_id, place])


class SealedWriter:
    """Makes the sealed form of content as it comes, and its table at the end."""

    def __init__(self, seal: Seal, content_type: str, metadata: Mapping[str, str]) -> None:
        self._seal, self._content_type, self._metadata = seal, content_type, metadata
        self._digest, self._size = hashlib.sha256(), 0
        self._frames: list[int] = []

    @property
    def table(self) -> Table:
        """The table of what was written so far."""
        return Table(
            content_type=self._content_type,
            metadata=self._metadata,
            size=self._size,
            sha256=self._digest.hexdigest(),
            frames=tuple(self._frames),
        )

    async def sealed(self, content: bytes | AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
        """The sealed form, piece by piece. Raises `ValueError` for content over 5 GiB."""
        async for frame in pieces(content, FRAME_BYTES):
            self._digest.update(frame)
            self._size += len(frame)
            sealed = self._seal.sealed(frame, len(self._frames))
            self._frames.append(len(sealed))
            yield sealed
        table = self._seal.sealed(self.table.model_dump_json().encode(), TABLE)
        yield table + len(table).to_bytes(LENGTH_BYTES, "big")

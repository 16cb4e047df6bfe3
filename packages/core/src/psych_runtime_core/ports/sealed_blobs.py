"""Blobs that are sealed at rest, in front of any blob store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from itertools import accumulate

from psych_runtime_core.errors import BlobCorrupt, BlobNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import (
    CHUNK_BYTES,
    BlobKey,
    BlobMetadata,
    BlobStore,
    blobs_of,
    check_blob,
    check_chunk,
    clamp,
)
from psych_runtime_core.ports.queries import Page
from psych_runtime_core.ports.sealed_frames import FRAME_BYTES, LENGTH_BYTES, Seal, SealedWriter, Table
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records.codec import Codec, PlainCodec
from psych_runtime_core.scope import Scope

SEALED_TYPE = "application/vnd.psych.sealed"
# Most tables come with the first look at the end of a blob.
FIRST_LOOK = 8 * 1024


class SealedBlobs:
    """A `BlobStore` whose content, types and metadata the store behind it cannot read.

    A seal is tied to key and place, so nothing can be moved. What was stored before it was sealed reads as
    ever. Of a tenant whose key is destroyed no blob is there. Keys and, roughly, sizes stay in clear.
    """

    def __init__(self, blobs: BlobStore, codec: Codec) -> None:
        self._blobs, self._codec = blobs, codec

    @property
    def behind(self) -> BlobStore:
        """The store that keeps them, as they are sealed."""
        return self._blobs

    async def put(
        self,
        key: BlobKey,
        content: bytes | AsyncIterable[bytes],
        *,
        content_type: str,
        metadata: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        told = dict(metadata or {})
        check_blob(content_type, told)
        await self._prepare(key)
        writer = SealedWriter(Seal(self._codec, key), content_type, told)
        stored = await self._blobs.put(key, writer.sealed(content), content_type=SEALED_TYPE)
        return writer.table.told(stored)

    async def get(self, key: BlobKey, *, offset: int = 0, length: int | None = None) -> bytes:
        stored = await self._stored(key)
        if stored.content_type != SEALED_TYPE:
            return await self._blobs.get(key, offset=offset, length=length)
        table = await self._table(key, stored)
        start, end = clamp(table.size, offset, length)
        content = await self._range(key, table, start, end)
        if (start, end) == (0, table.size) and hashlib.sha256(content).hexdigest() != table.sha256:
            raise BlobCorrupt(key, "its content has another digest")
        return content

    def open(self, key: BlobKey, *, chunk: int = CHUNK_BYTES) -> AsyncIterator[bytes]:
        check_chunk(chunk)
        return self._read(key, chunk)

    async def head(self, key: BlobKey) -> BlobMetadata | None:
        stored = await self._blobs.head(key)
        return None if stored is None else await self._told(key, stored)

    async def delete(self, key: BlobKey) -> None:
        await self._blobs.delete(key)

    async def list(
        self, tenant: str | None, run_id: RunId | None = None, *, cursor: str | None = None, limit: int = 1000
    ) -> Page[tuple[BlobKey, BlobMetadata]]:
        page = await self._blobs.list(tenant, run_id, cursor=cursor, limit=limit)
        # One that cannot be read any more is listed as it is stored, so that it can be found and deleted.
        items = [(key, await self._listed(key, stored)) for key, stored in page.items]
        return Page(tuple(items), page.cursor)

    async def delete_run(self, tenant: str, run_id: RunId) -> int:
        return await self._blobs.delete_run(tenant, run_id)

    async def _read(self, key: BlobKey, chunk: int) -> AsyncIterator[bytes]:
        stored = await self._stored(key)
        if stored.content_type != SEALED_TYPE:
            async for piece in self._blobs.open(key, chunk=chunk):
                yield piece
            return
        table, digest = await self._table(key, stored), hashlib.sha256()
        for start in range(0, table.size, chunk):
            piece = await self._range(key, table, start, min(start + chunk, table.size))
            digest.update(piece)
            yield piece
        if digest.hexdigest() != table.sha256:
            raise BlobCorrupt(key, "it was replaced while it was read")

    async def _prepare(self, key: BlobKey) -> None:
        await self._codec.prepare(Scope(tenant=key.tenant))

    async def _stored(self, key: BlobKey) -> BlobMetadata:
        stored = await self._blobs.head(key)
        if stored is None:
            raise BlobNotFound(key)
        return stored

    async def _told(self, key: BlobKey, stored: BlobMetadata) -> BlobMetadata | None:
        """What is known of a blob; None when it went meanwhile, or its key did. Raises `BlobCorrupt`."""
        if stored.content_type != SEALED_TYPE:
            return stored
        try:
            return (await self._table(key, stored)).told(stored)
        except BlobNotFound:
            return None

    async def _listed(self, key: BlobKey, stored: BlobMetadata) -> BlobMetadata:
        try:
            return await self._told(key, stored) or stored
        except BlobCorrupt:
            return stored

    async def _table(self, key: BlobKey, stored: BlobMetadata) -> Table:
        await self._prepare(key)
        tail = await self._blobs.get(key, offset=max(stored.size - FIRST_LOOK, 0))
        length = int.from_bytes(tail[-LENGTH_BYTES:], "big")
        if not 0 < length <= stored.size - LENGTH_BYTES:
            raise BlobCorrupt(key, "it does not end with a table of contents")
        if length + LENGTH_BYTES > len(tail):
            tail = await self._blobs.get(key, offset=stored.size - LENGTH_BYTES - length)
        return Seal(self._codec, key).table(tail[-LENGTH_BYTES - length : -LENGTH_BYTES])

    async def _range(self, key: BlobKey, table: Table, start: int, end: int) -> bytes:
        """The content from `start` to `end`, of the frames that hold it."""
        if start == end:
            return b""
        first, last = start // FRAME_BYTES, (end - 1) // FRAME_BYTES
        places = (0, *accumulate(table.frames))
        begins, length = places[first], places[last + 1] - places[first]
        sealed = await self._blobs.get(key, offset=begins, length=length)
        if len(sealed) != length:
            raise BlobCorrupt(key, "it is shorter than its table of contents says")
        seal = Seal(self._codec, key)
        frames = (
            seal.opened(sealed[places[at] - begins : places[at + 1] - begins], at)
            for at in range(first, last + 1)
        )
        return b"".join(frames)[start - first * FRAME_BYTES : end - first * FRAME_BYTES]


def codec_blobs_of(store: Store) -> BlobStore | None:
    """The blobs beside the Runs of a store, sealed where its logs are; None of one that keeps none."""
    blobs = blobs_of(store)
    # A codec that builds on it may seal.
    if blobs is None or type(store.codec) is PlainCodec:
        return blobs
    return SealedBlobs(blobs, store.codec)


def as_stored(blobs: BlobStore) -> BlobStore:
    """The same blobs as they lie there, sealed ones sealed. What wraps `SealedBlobs` gives what it gives."""
    return as_stored(blobs.behind) if isinstance(blobs, SealedBlobs) else blobs

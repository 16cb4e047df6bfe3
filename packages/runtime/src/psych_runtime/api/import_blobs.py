"""The blobs of an export file go into a blob store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import Any

from psych_runtime.api.export_file import BlobPiece
from psych_runtime.api.export_spool import KeptFile
from psych_runtime_core.errors import BlobCorrupt
from psych_runtime_core.ports.blob import BlobKey, BlobStore, check_blob_size
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.sealed_blobs import SEALED_TYPE, as_stored


class BlobsTold:
    """The blobs that a file has told of so far: each whole, and under a key that a blob may have."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self._digests: dict[str, Any] = {}
        self._name: str | None = None
        self._size = 0

    def take(self, piece: BlobPiece, header: RunHeader) -> None:
        """The next piece. Raises `ValueError` for one that belongs elsewhere."""
        if piece.call_id != self._name:
            self._begin(_key(piece.call_id, header).call_id, piece.content_type)
        if piece.offset != self._size:
            raise ValueError(f"the blob {piece.call_id} has no byte {self._size}")
        self._size += len(piece.data)
        check_blob_size(self._size)
        self._digests[piece.call_id].update(piece.data)

    def sha256_of(self, name: str) -> str:
        """64 hex digits of its content."""
        digest: str = self._digests[name].hexdigest()
        return digest

    def _begin(self, name: str, content_type: str) -> None:
        if name in self.types:
            raise ValueError(f"the blob {name} comes twice")
        self.types[name], self._digests[name] = content_type, hashlib.sha256()
        self._name, self._size = name, 0


@dataclass(frozen=True)
class BlobsOfFile:
    """The blobs of a Run that comes from a file, and where they are kept."""

    blobs: BlobStore
    file: KeptFile
    header: RunHeader
    told: BlobsTold

    async def absent(self) -> frozenset[str]:
        """Those of which none is there."""
        return frozenset([name for name in self.told.types if await self._sha256(name) is None])

    async def others(self) -> frozenset[str]:
        """Those that are not there as the file has them."""
        told = self.told
        return frozenset([name for name in told.types if await self._sha256(name) != told.sha256_of(name)])

    async def put(self, names: Collection[str]) -> None:
        """Store these, or replace what stands there."""
        pieces = (item async for item in self.file.items() if isinstance(item, BlobPiece))
        first = await anext(pieces, None) if names else None
        while first is not None:
            blob, name = _Blob(first, pieces), first.call_id
            if name in names:
                await self._kept(name).put(
                    _key(name, self.header),
                    blob.content(),
                    content_type=first.content_type,
                    metadata=first.metadata,
                )
            first = await blob.after()

    async def take_back(self) -> None:
        """Remove them."""
        for name in self.told.types:
            await self.blobs.delete(_key(name, self.header))

    async def _sha256(self, name: str) -> str | None:
        """Of what is there; empty where that is damaged, None where nothing is."""
        try:
            known = await self._kept(name).head(_key(name, self.header))
        except BlobCorrupt:
            return ""
        return None if known is None else known.sha256

    def _kept(self, name: str) -> BlobStore:
        """What comes sealed is put behind what would seal it once more."""
        return as_stored(self.blobs) if self.told.types[name] == SEALED_TYPE else self.blobs


class _Blob:
    """The pieces of one blob; behind its content, the first piece of the `next` one."""

    def __init__(self, first: BlobPiece, pieces: AsyncIterator[BlobPiece]) -> None:
        self.next: BlobPiece | None = first
        self._call_id, self._pieces = first.call_id, pieces

    async def after(self) -> BlobPiece | None:
        """The first piece of the next one, whatever was read of this."""
        async for _ in self.content():
            pass
        return self.next

    async def content(self) -> AsyncIterator[bytes]:
        while self.next is not None and self.next.call_id == self._call_id:
            yield self.next.data
            self.next = await anext(self._pieces, None)


def _key(name: str, header: RunHeader) -> BlobKey:
    return BlobKey(header.scope.tenant, header.run_id, name)

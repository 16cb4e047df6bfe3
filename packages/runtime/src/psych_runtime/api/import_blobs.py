"""The blobs of an export file go into a blob store."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from psych_runtime.api.export_file import BlobPiece
from psych_runtime.api.export_spool import KeptFile
from psych_runtime_core.errors import BlobCorrupt
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata, BlobStore, check_blob_size
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.sealed_blobs import SEALED_TYPE, as_stored


@dataclass
class _Told:
    """What a file has told of one blob so far."""

    content_type: str
    metadata: Mapping[str, str]
    digest: Any = field(default_factory=hashlib.sha256)
    size: int = 0

    def add(self, data: bytes) -> None:
        """Raises `ValueError` for more than a blob may hold."""
        self.size += len(data)
        check_blob_size(self.size)
        self.digest.update(data)

    def is_of(self, known: BlobMetadata | None) -> bool:
        """Whether a blob is this one."""
        mine = self.digest.hexdigest(), self.content_type, self.metadata
        return known is not None and mine == (known.sha256, known.content_type, known.metadata)


class BlobsTold:
    """The blobs that a file has told of so far: each whole, and under a key that a blob may have."""

    def __init__(self) -> None:
        self.by_name: dict[str, _Told] = {}
        self._name: str | None = None

    def take(self, piece: BlobPiece, header: RunHeader) -> None:
        """The next piece. Raises `ValueError` for one that belongs elsewhere."""
        if piece.call_id != self._name:
            self._begin(piece, header)
        told = self.by_name[piece.call_id]
        if piece.offset != told.size:
            raise ValueError(f"the blob {piece.call_id} has no byte {told.size}")
        told.add(piece.data)

    def _begin(self, first: BlobPiece, header: RunHeader) -> None:
        name = _key(first.call_id, header).call_id
        if name in self.by_name:
            raise ValueError(f"the blob {name} comes twice")
        self._name, self.by_name[name] = name, _Told(first.content_type, first.metadata)


@dataclass(frozen=True)
class BlobsOfFile:
    """The blobs of a Run that comes from a file, and where they are kept."""

    blobs: BlobStore
    file: KeptFile
    header: RunHeader
    told: BlobsTold

    async def absent(self) -> frozenset[str]:
        """Those of which none is there that can be read."""
        return frozenset([name for name in self.told.by_name if await self._known(name) is None])

    async def others(self) -> frozenset[str]:
        """Those that are not there as the file has them."""
        told = self.told.by_name
        return frozenset([name for name in told if not told[name].is_of(await self._known(name))])

    async def put(self, names: Collection[str], look: Callable[[], Awaitable[object]]) -> None:
        """Store these, or replace what stands there; `look` is called before each, and may raise."""
        pieces = (item async for item in self.file.items() if isinstance(item, BlobPiece))
        first = await anext(pieces, None) if names else None
        while first is not None:
            blob, name = _Blob(first, pieces), first.call_id
            if name in names:
                await look()
                await self._kept(name).put(
                    _key(name, self.header),
                    blob.content(),
                    content_type=first.content_type,
                    metadata=first.metadata,
                )
            first = await blob.after()

    async def take_back(self) -> None:
        """Remove them."""
        for name in self.told.by_name:
            await self.blobs.delete(_key(name, self.header))

    async def _known(self, name: str) -> BlobMetadata | None:
        try:
            return await self._kept(name).head(_key(name, self.header))
        except BlobCorrupt:
            return None

    def _kept(self, name: str) -> BlobStore:
        """What comes sealed is put behind what would seal it once more."""
        is_sealed = self.told.by_name[name].content_type == SEALED_TYPE
        return as_stored(self.blobs) if is_sealed else self.blobs


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

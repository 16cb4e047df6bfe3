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
class _BlobTold:
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

    def matches(self, known: BlobMetadata | None) -> bool:
        """Whether what is known of a blob says that it is this one."""
        mine = self.digest.hexdigest(), self.content_type, self.metadata
        return known is not None and mine == (known.sha256, known.content_type, known.metadata)


class BlobsTold:
    """The blobs that a file has told of so far: each whole, and under a key that a blob may have."""

    def __init__(self) -> None:
        self.by_name: dict[str, _BlobTold] = {}
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
        self._name, self.by_name[name] = name, _BlobTold(first.content_type, first.metadata)


@dataclass(frozen=True)
class BlobsOfFile:
    """The blobs of a Run that comes from a file, and where they are kept."""

    blobs: BlobStore
    file: KeptFile
    header: RunHeader
    told: BlobsTold
    brought: set[str] = field(default_factory=set[str])

    async def lacking(self) -> frozenset[str]:
        """Those that are missing or damaged. A sealed one is there, whoever can open it."""
        blobs = as_stored(self.blobs)
        return frozenset([name for name in self.told.by_name if await self._known(blobs, name) is None])

    async def others(self) -> frozenset[str]:
        """Those that are not there as the file has them."""
        found = {name: await self._known(self._kept(name), name) for name in self.told.by_name}
        return frozenset(name for name, known in found.items() if not self.told.by_name[name].matches(known))

    async def put(self, names: Collection[str], refuse_another_log: Callable[[], Awaitable[object]]) -> None:
        """Store these, or replace what stands there. Raises what `refuse_another_log` does, before each."""
        pieces = (item async for item in self.file.items() if isinstance(item, BlobPiece))
        first = await anext(pieces, None) if names else None
        while first is not None:
            blob, name = _Blob(first, pieces), first.call_id
            if name in names:
                # Another log of this id may have been stored since: then these are its blobs.
                await refuse_another_log()
                self.brought.add(name)
                await self._kept(name).put(
                    _key(name, self.header),
                    blob.content(),
                    content_type=first.content_type,
                    metadata=first.metadata,
                )
            first = await blob.after()

    async def take_back(self, run_now: Callable[[], Awaitable[RunHeader | None]]) -> None:
        """Remove what was brought, until `run_now` tells that the Run is there. Raises what that does."""
        for name in tuple(self.brought):
            if await run_now() is not None:
                return
            await self.blobs.delete(_key(name, self.header))
            self.brought.discard(name)

    async def _known(self, blobs: BlobStore, name: str) -> BlobMetadata | None:
        """Of what stands there; None where nothing does, or what is damaged."""
        try:
            return await blobs.head(_key(name, self.header))
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

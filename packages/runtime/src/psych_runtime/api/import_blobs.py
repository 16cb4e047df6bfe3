"""The blobs of an export file go into a blob store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from psych_runtime.api.export_file import BlobPiece
from psych_runtime.api.export_spool import KeptFile
from psych_runtime_core.ports.blob import BlobKey, BlobStore, check_blob_size
from psych_runtime_core.ports.queries import pages
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.sealed_blobs import SEALED_TYPE, as_stored


class BlobsTold:
    """The blobs that a file has told of so far: each whole, and under a key that a blob may have."""

    def __init__(self) -> None:
        self.names = set[str]()
        self._name: str | None = None
        self._size = 0

    def take(self, piece: BlobPiece, header: RunHeader) -> None:
        """The next piece. Raises `ValueError` for one that belongs elsewhere."""
        if piece.call_id != self._name:
            self._begin(_key(piece.call_id, header).call_id)
        if piece.offset != self._size:
            raise ValueError(f"the blob {piece.call_id} has no byte {self._size}")
        self._size += len(piece.data)
        check_blob_size(self._size)

    def _begin(self, name: str) -> None:
        if name in self.names:
            raise ValueError(f"the blob {name} comes twice")
        self.names.add(name)
        self._name, self._size = name, 0


async def put_blobs(blobs: BlobStore, file: KeptFile, header: RunHeader) -> None:
    """Store the blobs of a Run, before the records that name them; a repeat replaces what a crash left.

    One that comes sealed is put behind what would seal it once more.
    """
    pieces = (item async for item in file.items() if isinstance(item, BlobPiece))
    first = await anext(pieces, None)
    while first is not None:
        blob = _Blob(first, pieces)
        kept = as_stored(blobs) if first.content_type == SEALED_TYPE else blobs
        await kept.put(
            _key(first.call_id, header),
            blob.content(),
            content_type=first.content_type,
            metadata=first.metadata,
        )
        first = blob.next


async def all_stand(blobs: BlobStore, names: Iterable[str], header: RunHeader) -> bool:
    """Whether no blob of these is missing."""
    there, kept = set[str](), as_stored(blobs)
    async for page in pages(lambda cursor: kept.list(header.scope.tenant, header.run_id, cursor=cursor)):
        there |= {key.call_id for key, _ in page.items}
    return there.issuperset(names)


async def take_back(blobs: BlobStore, names: Iterable[str], header: RunHeader) -> None:
    """Remove blobs that were stored for a Run that does not come."""
    for name in names:
        await blobs.delete(_key(name, header))


class _Blob:
    """The pieces of one blob; behind its content, the first piece of the `next` one."""

    def __init__(self, first: BlobPiece, pieces: AsyncIterator[BlobPiece]) -> None:
        self.next: BlobPiece | None = first
        self._call_id, self._pieces = first.call_id, pieces

    async def content(self) -> AsyncIterator[bytes]:
        while self.next is not None and self.next.call_id == self._call_id:
            yield self.next.data
            self.next = await anext(self._pieces, None)


def _key(name: str, header: RunHeader) -> BlobKey:
    return BlobKey(header.scope.tenant, header.run_id, name)

"""A Run leaves its store as a file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from psych_runtime.api.access import header_of, scope_of
from psych_runtime.api.arguments import blob_store, identifier
from psych_runtime.api.export_file import BLOB_PIECE_BYTES, BlobPiece, Item, Start, Tally, line_of
from psych_runtime.api.log import LogReader
from psych_runtime.attempt.reading import PAGE
from psych_runtime_core.errors import CorruptionReason, CorruptLog
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata, BlobStore
from psych_runtime_core.ports.queries import pages
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.sealed_blobs import as_stored
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Entry
from psych_runtime_core.scope import Scope


def export_run(
    store: Store, run_id: RunId | str, *, blobs: BlobStore | None = None, scope: Scope | None = None
) -> AsyncGenerator[bytes]:
    """The Run as the lines of a file, each with its end: its header, Version, log and blobs.

    Bodies and blobs stand in it as they are stored, sealed ones sealed. Its memory is one page. Of a Run that
    goes on, it holds what was there at the first line. A settled Run gives equal bytes each time, here and
    wherever it was imported.

    Raises with the first line `RunNotFound`, `AccessDenied`, and `ValueError` where its log names blobs
    and none are given; with any line `CorruptLog`.
    """
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    kept = blob_store(blobs)
    return _lines(store, run, kept and as_stored(kept), held)


async def _lines(
    store: Store, run_id: RunId, blobs: BlobStore | None, scope: Scope | None
) -> AsyncGenerator[bytes]:
    header = await header_of(store, run_id, scope)
    if blobs is None and header.blobs:
        raise ValueError(f"the log of {run_id} names blobs; give blobs= with the store that keeps them")
    tally = Tally()
    async for item in _items(store, header, blobs):
        yield tally.add(line_of(item))
    yield tally.end_line


async def _items(store: Store, header: RunHeader, blobs: BlobStore | None) -> AsyncIterator[Item]:
    yield Start()
    yield header
    yield await store.get_version(header.version_hash)
    async for entry in _entries(store, header):
        yield entry
    if blobs is not None:
        async for piece in _pieces(blobs, header):
            yield piece


async def _entries(store: Store, header: RunHeader) -> AsyncIterator[Entry]:
    """The log as far as the header tells of it."""
    reader, left = LogReader(store, header), header.head.seq
    while left and (page := await reader.page(min(PAGE, left))):
        left -= len(page)
        for entry in page:
            yield entry
    if left or reader.head != header.head:
        detail = f"the header says that entry {header.head.seq} is another"
        raise CorruptLog(CorruptionReason.DIGEST_MISMATCH, header.run_id, header.head.seq - left, detail)


async def _pieces(blobs: BlobStore, header: RunHeader) -> AsyncIterator[BlobPiece]:
    tenant, run_id = header.scope.tenant, header.run_id
    async for page in pages(lambda cursor: blobs.list(tenant, run_id, cursor=cursor)):
        for key, known in page.items:
            async for piece in _pieces_of(blobs, key, known):
                yield piece


async def _pieces_of(blobs: BlobStore, key: BlobKey, known: BlobMetadata) -> AsyncIterator[BlobPiece]:
    offset = 0
    async for data in blobs.open(key, chunk=BLOB_PIECE_BYTES):
        yield BlobPiece(key.call_id, known.content_type, known.metadata, offset, data)
        offset += len(data)
    if not offset:
        yield BlobPiece(key.call_id, known.content_type, known.metadata, 0, b"")

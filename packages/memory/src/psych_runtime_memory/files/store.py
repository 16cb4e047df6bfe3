"""Blobs as files, one a blob."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from hashlib import sha256
from typing import ParamSpec, TypeVar

from anyio import CancelScope
from anyio.to_thread import run_sync

from psych_runtime_core.clock import Clock, SystemClock
from psych_runtime_core.errors import BlobCorrupt, StoreError, StoreFull, StoreMisconfigured, StoreUnavailable
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports import blob as checks
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobKey, BlobMetadata
from psych_runtime_core.ports.queries import Page
from psych_runtime_memory.files.blobs import BlobFiles, check_digest
from psych_runtime_memory.files.folders import Folders
from psych_runtime_memory.files.label import UNKNOWN
from psych_runtime_memory.files.upload import Upload

P = ParamSpec("P")
T = TypeVar("T")

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
_NOT_OURS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ELOOP}


class FilesystemBlobStore:
    """A `BlobStore` below a folder, which comes with the first blob. Any number of processes may share it.

    What is stored is on the disk: file and folder are flushed before `put` returns.
    """

    def __init__(self, root: str | os.PathLike[str], *, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._folders = Folders(os.fspath(root))
        self._files = BlobFiles(self._folders)

    async def put(
        self,
        key: BlobKey,
        content: bytes | AsyncIterable[bytes],
        *,
        content_type: str,
        metadata: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        checks.check_blob(content_type, metadata or {})
        known = BlobMetadata(
            size=0,
            content_type=content_type,
            sha256=UNKNOWN,
            metadata=dict(metadata or {}),
            created_at=self._clock.now(),
        )
        upload = await _in_thread("put", Upload, self._folders, key, known)
        try:
            async with aclosing(checks.pieces(content)) as pieces:
                async for piece in pieces:
                    await _in_thread("put", upload.write, piece)
            return await _in_thread("put", upload.publish)
        finally:
            with CancelScope(shield=True):
                await _in_thread("put", upload.discard)

    async def get(self, key: BlobKey, *, offset: int = 0, length: int | None = None) -> bytes:
        _, body = await _in_thread("get", self._files.read, key, offset, length)
        return body

    def open(self, key: BlobKey, *, chunk: int = CHUNK_BYTES) -> AsyncIterator[bytes]:
        checks.check_chunk(chunk)
        return self._read(key, chunk)

    async def head(self, key: BlobKey) -> BlobMetadata | None:
        return await _in_thread("head", self._files.head, key)

    async def delete(self, key: BlobKey) -> None:
        await _in_thread("delete", self._files.delete, key)

    async def list(
        self, tenant: str | None, run_id: RunId | None = None, *, cursor: str | None = None, limit: int = 1000
    ) -> Page[tuple[BlobKey, BlobMetadata]]:
        checks.check_blob_page(tenant, run_id, limit)
        return await _in_thread("list", self._files.page, tenant, run_id, cursor, limit)

    async def delete_run(self, tenant: str, run_id: RunId) -> int:
        return await _in_thread("delete_run", self._files.delete_run, tenant, run_id)

    async def _read(self, key: BlobKey, chunk: int) -> AsyncGenerator[bytes]:
        """The file is opened for each piece, so nothing is held while the reader does something else."""
        digest, size, first = sha256(), 0, None
        while first is None or size < first.size:
            known, body = await _in_thread("open", self._files.read, key, size, chunk)
            first = first or known
            if known.sha256 != first.sha256:
                raise BlobCorrupt(key, "it was replaced while it was read")
            digest.update(body)
            size += len(body)
            if size == first.size:
                check_digest(key, first, digest.hexdigest())
            if body:
                yield body


async def _in_thread(operation: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return await run_sync(partial(call, *args, **kwargs))
    except OSError as error:
        raise _typed(operation, error) from error


def _typed(operation: str, error: OSError) -> StoreError:
    detail = f"{error.strerror}: {error.filename}"
    if error.errno in _NO_ROOM:
        return StoreFull(operation, detail)
    if error.errno in _NOT_OURS:
        cure = "a folder of blobs can be written to and has no links in it"
        return StoreMisconfigured(f"{operation}: {detail}; {cure}")
    return StoreUnavailable(operation, detail)

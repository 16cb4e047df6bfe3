"""Blobs in a dict."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping
from hashlib import sha256
from itertools import islice

from psych_runtime_core.clock import Clock, SystemClock
from psych_runtime_core.errors import BlobNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports import blob as checks
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobKey, BlobMetadata, clamp
from psych_runtime_core.ports.queries import Page
from psych_runtime_memory.gate import Gate

Blob = tuple[BlobMetadata, bytes]
Place = tuple[str, ...]
"""Tenant, Run and call of a blob, or the first of them."""


class InMemoryBlobStore:
    """A `BlobStore` that is gone with its process. Who reads content that is replaced ends with the old."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock: Clock = clock or SystemClock()
        self._gate = Gate()
        self._blobs: dict[BlobKey, Blob] = {}
        self._places: list[Place] = []

    async def put(
        self,
        key: BlobKey,
        content: bytes | AsyncIterable[bytes],
        *,
        content_type: str,
        metadata: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        checks.check_blob(content_type, metadata or {})
        body = b"".join([piece async for piece in checks.pieces(content)])
        known = BlobMetadata(
            size=len(body),
            content_type=content_type,
            sha256=sha256(body).hexdigest(),
            metadata=dict(metadata or {}),
            created_at=self._clock.now(),
        )
        async with self._gate.alone():
            if key not in self._blobs:
                insort(self._places, _place(key))
            self._blobs[key] = (known, body)
        return known

    async def get(self, key: BlobKey, *, offset: int = 0, length: int | None = None) -> bytes:
        known, body = await self._found(key)
        start, end = clamp(known.size, offset, length)
        return body[start:end]

    def open(self, key: BlobKey, *, chunk: int = CHUNK_BYTES) -> AsyncIterator[bytes]:
        checks.check_chunk(chunk)
        return self._read(key, chunk)

    async def head(self, key: BlobKey) -> BlobMetadata | None:
        try:
            return (await self._found(key))[0]
        except BlobNotFound:
            return None

    async def delete(self, key: BlobKey) -> None:
        async with self._gate.alone():
            if self._blobs.pop(key, None):
                del self._places[bisect_left(self._places, _place(key))]

    async def list(
        self, tenant: str | None, run_id: RunId | None = None, *, cursor: str | None = None, limit: int = 1000
    ) -> Page[tuple[BlobKey, BlobMetadata]]:
        checks.check_blob_page(tenant, run_id, limit)
        within = tuple(part for part in (tenant, run_id) if part is not None)
        async with self._gate.alone():
            keys = list(islice(self._walk(within, tuple((cursor or "").rsplit("/", 2))), limit + 1))
            items = tuple((key, self._blobs[key][0]) for key in keys[:limit])
        return Page(items, "/".join(_place(keys[limit - 1])) if len(keys) > limit else None)

    async def delete_run(self, tenant: str, run_id: RunId) -> int:
        async with self._gate.alone():
            keys = list(self._walk((tenant, run_id)))
            start = bisect_left(self._places, (tenant, run_id))
            del self._places[start : start + len(keys)]
            for key in keys:
                del self._blobs[key]
        return len(keys)

    async def _found(self, key: BlobKey) -> Blob:
        async with self._gate.alone():
            if key not in self._blobs:
                raise BlobNotFound(key)
            return self._blobs[key]

    async def _read(self, key: BlobKey, chunk: int) -> AsyncGenerator[bytes]:
        _, body = await self._found(key)
        for start in range(0, len(body), chunk):
            yield body[start : start + chunk]

    def _walk(self, within: Place, behind: Place = ()) -> Iterator[BlobKey]:
        """The keys that begin with `within`, in order, behind a place."""
        start = max(bisect_left(self._places, within), bisect_right(self._places, behind))
        for tenant, run_id, call_id in islice(self._places, start, None):
            if (tenant, run_id)[: len(within)] != within:
                return
            yield BlobKey(tenant, RunId(run_id), call_id)


class BlobsOfStore(InMemoryBlobStore):
    """Those of an `InMemoryStore`, behind its gate."""

    def __init__(self, gate: Gate, clock: Clock) -> None:
        super().__init__(clock=clock)
        self._gate = gate


def _place(key: BlobKey) -> Place:
    return key.tenant, key.run_id, key.call_id

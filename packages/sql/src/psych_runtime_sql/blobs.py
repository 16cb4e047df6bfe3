"""Blobs in tables, beside the Runs that name them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from hashlib import sha256

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import BlobCorrupt, BlobNotFound, StoreError
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports import blob as checks
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobKey, BlobMetadata, clamp, pieces
from psych_runtime_core.ports.queries import Page
from psych_runtime_sql.access import Access
from psych_runtime_sql.blob_rows import Blob, Place, place_of
from psych_runtime_sql.chunks import CHUNKS_AT_ONCE
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.marks import Mark
from psych_runtime_sql.operations import Operations
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.parts import a_part
from psych_runtime_sql.sweeps import SLICE_BYTES
from psych_runtime_sql.uploads import Arrival

WITHDRAWN_AT_ONCE = 100
BEFORE_ALL = ("", "", "")


class SqlBlobStore:
    """A `BlobStore` in the database of its store: the same connections, the same backup.

    Content comes and goes half a mebibyte at a time, so that nobody waits for a large blob.
    """

    def __init__(self, access: Access, operations: Operations, clock: Clock) -> None:
        self._access, self._clock = access, clock
        self._rows, self._chunks = operations.blobs, operations.chunks
        self._uploads, self._sweeper = operations.uploads, operations.sweeper

    async def put(
        self,
        key: BlobKey,
        content: bytes | AsyncIterable[bytes],
        *,
        content_type: str,
        metadata: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        told = dict(metadata or {})
        checks.check_blob(content_type, told)
        arrival = Arrival()
        try:
            async with aclosing(pieces(content)) as chunks:
                async for chunk in chunks:
                    if len(arrival.held) == CHUNKS_AT_ONCE:
                        await self._store(key, arrival)
                    arrival.take(chunk)
            known = arrival.known(content_type, told, self._clock.now())
            replaced = await self._publish(Blob(key, arrival.upload, known), arrival)
        except Exception:
            await self._give_up(arrival)
            raise
        await self._finish("blobs.put", replaced)
        return known

    async def get(self, key: BlobKey, *, offset: int = 0, length: int | None = None) -> bytes:
        async with aclosing(self._content(key, offset, length)) as content:
            return b"".join([piece async for piece in content])

    def open(self, key: BlobKey, *, chunk: int = CHUNK_BYTES) -> AsyncIterator[bytes]:
        checks.check_chunk(chunk)
        return pieces(self._content(key, 0, None), chunk)

    async def head(self, key: BlobKey) -> BlobMetadata | None:
        blob = await self._access.read("blobs.head", lambda driver: self._rows.find(driver, key))
        return blob.known if blob else None

    async def delete(self, key: BlobKey) -> None:
        async def work(driver: Driver) -> Outcome[Sequence[Mark]]:
            return Outcome(await self._rows.withdraw(driver, [key], self._clock.now()))

        await self._finish("blobs.delete", await self._access.write("blobs.delete", work))

    async def list(
        self, tenant: str | None, run_id: RunId | None = None, *, cursor: str | None = None, limit: int = 1000
    ) -> Page[tuple[BlobKey, BlobMetadata]]:
        checks.check_blob_page(tenant, run_id, limit)
        within = tuple(part for part in (tenant, run_id) if part is not None)
        behind = BEFORE_ALL if cursor is None else _place(cursor, within)
        blobs = await self._access.read(
            "blobs.list", lambda driver: self._rows.page(driver, within, behind, limit + 1)
        )
        items = tuple((blob.key, blob.known) for blob in blobs[:limit])
        return Page(items, "/".join(place_of(items[-1][0])) if len(blobs) > limit else None)

    async def delete_run(self, tenant: str, run_id: RunId) -> int:
        async def work(driver: Driver) -> Outcome[Sequence[Mark]]:
            blobs = await self._rows.page(driver, (tenant, run_id), BEFORE_ALL, WITHDRAWN_AT_ONCE)
            keys = [blob.key for blob in blobs]
            return Outcome(await self._rows.withdraw(driver, keys, self._clock.now()))

        deleted = 0
        while True:
            with a_part(others_done=deleted > 0):
                marks = await self._access.write("blobs.delete_run", work)
            if not marks:
                return deleted
            deleted += len(marks)
            await self._finish("blobs.delete_run", marks)

    async def _content(self, key: BlobKey, offset: int, length: int | None) -> AsyncGenerator[bytes]:
        """A range, a look at a time: it pins nothing between two. A whole blob is checked at its end."""
        clamp(0, offset, length)
        blob, piece = await self._access.read(
            "blobs.get", lambda driver: self._begin(driver, key, offset, length)
        )
        start, end = clamp(blob.known.size, offset, length)
        digest = sha256() if (start, end) == (0, blob.known.size) else None
        while piece:
            if digest:
                digest.update(piece)
            yield piece
            start += len(piece)
            piece = await self._look(blob.upload, start, end) if start < end else b""
        if start < end:
            raise BlobCorrupt(key, "it was replaced while it was read, or a part of it is gone")
        if digest and digest.hexdigest() != blob.known.sha256:
            raise BlobCorrupt(key, "its content has another digest")

    # --- one transaction each

    async def _begin(
        self, driver: Driver, key: BlobKey, offset: int, length: int | None
    ) -> tuple[Blob, bytes]:
        """A blob, and the first piece of a range of it: as they are at one moment."""
        blob = await self._rows.find(driver, key)
        if blob is None:
            raise BlobNotFound(key)
        start, end = clamp(blob.known.size, offset, length)
        return blob, await self._chunks.read(driver, blob.upload, start, end)

    async def _look(self, upload: str, start: int, end: int) -> bytes:
        return await self._access.read(
            "blobs.get", lambda driver: self._chunks.read(driver, upload, start, end)
        )

    async def _store(self, key: BlobKey, arrival: Arrival) -> None:
        await self._access.write(
            "blobs.put",
            lambda driver: self._uploads.go_on(driver, arrival, key.tenant, self._clock.now()),
            sum(map(len, arrival.held)),
        )
        arrival.let_go()

    async def _publish(self, blob: Blob, arrival: Arrival) -> Sequence[Mark]:
        return await self._access.write(
            "blobs.put",
            lambda driver: self._uploads.end(driver, arrival, blob, self._clock.now()),
            sum(map(len, arrival.held)),
        )

    async def _slice(self, operation: str, marks: Sequence[Mark]) -> Sequence[Mark]:
        return await self._access.write(
            operation, lambda driver: self._sweeper.slice(driver, marks), SLICE_BYTES
        )

    # --- what is left under marks

    async def _give_up(self, arrival: Arrival) -> None:
        # What cannot be taken away now is left under its mark, for a purge.
        with suppress(StoreError):
            marks = await self._access.write(
                "blobs.put", lambda driver: self._uploads.give_up(driver, arrival.upload)
            )
            await self._finish("blobs.put", marks)

    async def _finish(self, operation: str, marks: Sequence[Mark]) -> None:
        """Take away content that no blob names, in slices. What is left when that fails is for a purge."""
        with suppress(StoreError):
            while marks:
                marks = await self._slice(operation, marks)


def _place(cursor: str, within: Place) -> Place:
    """Where a page ended. Raises `ValueError` for a cursor of other blobs."""
    place = tuple(cursor.rsplit("/", 2))
    if len(place) != len(BEFORE_ALL) or place[: len(within)] != within:
        raise ValueError("this cursor comes from another list of blobs; begin with cursor=None")
    return place

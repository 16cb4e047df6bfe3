"""Replacing: the old blob or the new one, whole, whoever reads and whatever befalls the writer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest
from anyio import create_task_group

from psych_runtime_contract.blob.base import KEY, LARGE, OTHER, BlobBase, flow, listed, pieces_of, put
from psych_runtime_core.errors import BlobCorrupt, BlobNotFound
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobStore

OLD, NEW = LARGE, LARGE[::-1]
ROUNDS = 8


class Broken(Exception):
    """What the maker of content raises."""


class BlobReplacing(BlobBase):
    """`put` where a blob stands."""

    @pytest.mark.parametrize(
        "new", [NEW, b"", b"shorter", NEW * 2], ids=["as long", "empty", "short", "long"]
    )
    async def test_a_put_replaces_content_and_all_that_was_told(self, blobs: BlobStore, new: bytes) -> None:
        await put(blobs, OLD, name="old", of="ada")
        known = await blobs.put(KEY, flow(new), content_type="image/png", metadata={"name": "new"})
        assert known == await blobs.head(KEY)
        assert (known.content_type, known.metadata, known.size) == ("image/png", {"name": "new"}, len(new))
        assert await blobs.get(KEY) == new
        assert await listed(blobs) == {KEY: known}

    @pytest.mark.parametrize(
        "new", [NEW, b"", b"shorter", NEW * 2], ids=["as long", "empty", "short", "long"]
    )
    @pytest.mark.parametrize("chunk", [CHUNK_BYTES // 2, CHUNK_BYTES, CHUNK_BYTES + 9])
    async def test_who_reads_what_is_replaced_ends_with_the_old_content_or_learns_of_it(
        self, blobs: BlobStore, new: bytes, chunk: int
    ) -> None:
        await put(blobs, OLD)
        reading = aiter(blobs.open(KEY, chunk=chunk))
        first = await anext(reading)
        await put(blobs, new)
        rest = await self.rest(reading, BlobCorrupt)
        assert rest is None or first + rest == OLD

    async def test_who_reads_what_is_deleted_ends_with_it_or_learns_of_it(self, blobs: BlobStore) -> None:
        await put(blobs, OLD)
        reading = aiter(blobs.open(KEY, chunk=CHUNK_BYTES // 2))
        first = await anext(reading)
        await blobs.delete(KEY)
        rest = await self.rest(reading, BlobCorrupt, BlobNotFound)
        assert rest is None or first + rest == OLD

    async def rest(self, reading: AsyncIterator[bytes], *errors: type[Exception]) -> bytes | None:
        """What is left to read; None when the reader is told that it is gone."""
        try:
            return b"".join(await pieces_of(reading))
        except errors:
            return None

    async def test_a_reader_that_halts_stops_nobody(self, blobs: BlobStore) -> None:
        await put(blobs, OLD)
        reading = aiter(blobs.open(KEY, chunk=1_000))
        await anext(reading)
        for _ in range(ROUNDS):
            await put(blobs, NEW)
            await put(blobs, b"other", OTHER)
            await blobs.delete(OTHER)
        assert await blobs.get(KEY) == NEW

    async def test_writers_at_once_leave_one_whole_blob(self, blobs: BlobStore) -> None:
        contents = {b"%d." % number * 50_000: str(number) for number in range(ROUNDS)}
        async with create_task_group() as group:
            for content, name in contents.items():
                group.start_soon(self.write, blobs, content, name)
        content, known = await blobs.get(KEY), await blobs.head(KEY)
        assert known is not None
        assert known.metadata == {"name": contents[content]}
        assert await listed(blobs) == {KEY: known}

    async def write(self, blobs: BlobStore, content: bytes, name: str) -> None:
        await put(blobs, content, name=name)

    async def test_readers_meet_no_mixture(self, blobs: BlobStore) -> None:
        await put(blobs, OLD)
        written = False

        async def replace() -> None:
            nonlocal written
            for number in range(ROUNDS):
                await put(blobs, OLD if number % 2 else NEW)
            written = True

        async with create_task_group() as group:
            group.start_soon(replace)
            while not written:
                try:
                    assert await blobs.get(KEY) in {OLD, NEW}
                except BlobCorrupt:
                    # It was replaced while it was read.
                    continue

    # --- the writer fails --------------------------------------------------------------------------------

    @pytest.mark.parametrize("there", [False, True], ids=["where none was", "where one stands"])
    @pytest.mark.parametrize("sent", [b"", b"some", NEW], ids=["at once", "early", "late"])
    async def test_content_that_fails_leaves_what_was_there(
        self, blobs: BlobStore, sent: bytes, there: bool
    ) -> None:
        known = await put(blobs, OLD, name="old") if there else None

        async def content() -> AsyncGenerator[bytes]:
            yield sent
            raise Broken

        with pytest.raises(Broken):
            await blobs.put(KEY, content(), content_type="image/png")
        assert await blobs.head(KEY) == known
        assert await listed(blobs) == ({KEY: known} if known else {})
        if there:
            assert await blobs.get(KEY) == OLD

    async def test_a_put_that_is_cancelled_leaves_what_was_there(self, blobs: BlobStore) -> None:
        known = await put(blobs, OLD)
        reached, never = asyncio.Event(), asyncio.Event()

        async def content() -> AsyncGenerator[bytes]:
            yield NEW
            reached.set()
            await never.wait()

        putting = asyncio.create_task(blobs.put(KEY, content(), content_type="image/png"))
        await reached.wait()
        putting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await putting
        assert await listed(blobs) == {KEY: known}
        assert await blobs.get(KEY) == OLD
        await put(blobs, NEW)
        assert await blobs.get(KEY) == NEW

    async def test_content_is_read_to_its_end_before_a_blob_is_there(self, blobs: BlobStore) -> None:
        seen: list[object] = []

        async def content() -> AsyncGenerator[bytes]:
            for _ in range(3):
                yield NEW
                seen.append(await blobs.head(KEY))

        await blobs.put(KEY, content(), content_type="image/png")
        assert seen == [None] * 3
        assert await blobs.get(KEY) == NEW * 3

"""Ranges: what slicing the bytes gives, at every edge."""

from __future__ import annotations

import pytest

from psych_runtime_contract.blob.base import KEY, LARGE, BlobBase, put
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobStore

FRAME = 64 * 1024
SMALL = bytes(range(9))
FAR = 2**40
EDGES = (
    0,
    1,
    FRAME - 1,
    FRAME,
    CHUNK_BYTES - 1,
    CHUNK_BYTES,
    CHUNK_BYTES + 1,
    len(LARGE) - 1,
    len(LARGE),
    FAR,
)


def sliced(content: bytes, offset: int, length: int | None) -> bytes:
    return content[offset:] if length is None else content[offset : offset + length]


class BlobRanges(BlobBase):
    """`get` of a part."""

    @pytest.mark.parametrize("offset", EDGES)
    async def test_a_range_of_a_large_blob_is_a_slice(self, blobs: BlobStore, offset: int) -> None:
        await put(blobs, LARGE)
        for length in (*EDGES, None):
            found = await blobs.get(KEY, offset=offset, length=length)
            assert found == sliced(LARGE, offset, length), f"{length} bytes from {offset}"

    async def test_every_range_of_a_small_blob_is_a_slice(self, blobs: BlobStore) -> None:
        await put(blobs, SMALL)
        for offset in range(len(SMALL) + 2):
            for length in (None, *range(len(SMALL) + 2)):
                assert await blobs.get(KEY, offset=offset, length=length) == sliced(SMALL, offset, length)

    @pytest.mark.parametrize("length", [None, 0, 1, FAR])
    @pytest.mark.parametrize("offset", [0, 1, FAR])
    async def test_every_range_of_an_empty_blob_is_empty(
        self, blobs: BlobStore, offset: int, length: int | None
    ) -> None:
        await put(blobs, b"")
        assert await blobs.get(KEY, offset=offset, length=length) == b""

    @pytest.mark.parametrize(("offset", "length"), [(-1, None), (0, -1), (-1, -1), (-FAR, 1)])
    async def test_a_range_before_the_beginning_is_refused(
        self, blobs: BlobStore, offset: int, length: int | None
    ) -> None:
        await put(blobs, SMALL)
        with pytest.raises(ValueError):
            await blobs.get(KEY, offset=offset, length=length)

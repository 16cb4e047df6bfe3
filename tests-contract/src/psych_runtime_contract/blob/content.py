"""Content: it comes back byte for byte, however it came and however large it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncGenerator
from hashlib import sha256
from itertools import pairwise

import pytest

from psych_runtime_contract.blob.base import KEY, LARGE, OTHER, BlobBase, flow, pieces_of, put
from psych_runtime_core.errors import BlobCorrupt, BlobNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobKey, BlobStore

PIECE, PIECES = bytes(range(250)) * 400, 200
"""Together 20 MB."""
FLAT_BYTES = 8_000_000

CONTENTS = [
    pytest.param(b"", id="empty"),
    pytest.param(b"\x00", id="NUL"),
    pytest.param(bytes(range(256)), id="every byte"),
    pytest.param(b'{"a": 1}\n', id="what looks like something else"),
    pytest.param(LARGE[: CHUNK_BYTES - 1], id="nearly a chunk"),
    pytest.param(LARGE[:CHUNK_BYTES], id="a chunk"),
    pytest.param(LARGE[: CHUNK_BYTES + 1], id="a chunk and a byte"),
    pytest.param(LARGE, id="large"),
]
WIDE = "\N{GRINNING FACE}" * 256
ALIKE = ("A", "a", "a.", "..x", ".x", "%41", "a b", "a%2fb", "con", "café", "cafe\N{COMBINING ACUTE ACCENT}")


class BlobContent(BlobBase):
    """What is put is got."""

    @pytest.mark.parametrize("content", CONTENTS)
    async def test_content_comes_back_byte_for_byte(self, blobs: BlobStore, content: bytes) -> None:
        known = await put(blobs, content)
        assert (known.size, known.sha256) == (len(content), sha256(content).hexdigest())
        assert await blobs.get(KEY) == content
        assert b"".join(await pieces_of(blobs.open(KEY))) == content

    @pytest.mark.parametrize(
        "lengths",
        [
            pytest.param([], id="none"),
            pytest.param([0, 0], id="empty ones"),
            pytest.param([1] * 300, id="bytes"),
            pytest.param([0, CHUNK_BYTES, 0, CHUNK_BYTES], id="chunks"),
            pytest.param([CHUNK_BYTES - 1, 2, CHUNK_BYTES, 7], id="across chunks"),
            pytest.param([len(LARGE)], id="all"),
        ],
    )
    async def test_content_may_come_in_any_pieces(self, blobs: BlobStore, lengths: list[int]) -> None:
        places = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
        pieces = [LARGE[start:end] for start, end in pairwise(places)]
        known = await blobs.put(KEY, flow(*pieces), content_type="text/plain")
        assert known == await blobs.head(KEY)
        assert known.size == places[-1]
        assert await blobs.get(KEY) == LARGE[: places[-1]]

    @pytest.mark.parametrize("chunk", [10_000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 10**9])
    async def test_content_goes_in_pieces_as_large_as_is_asked(self, blobs: BlobStore, chunk: int) -> None:
        await put(blobs, LARGE)
        expected = [LARGE[at : at + chunk] for at in range(0, len(LARGE), chunk)]
        assert await pieces_of(blobs.open(KEY, chunk=chunk)) == expected

    async def test_an_empty_blob_has_no_pieces(self, blobs: BlobStore) -> None:
        await put(blobs, b"")
        assert await pieces_of(blobs.open(KEY)) == []

    @pytest.mark.needs("caps.flat")
    async def test_20_mb_come_and_go_in_flat_memory(self, blobs: BlobStore) -> None:
        digest, size = sha256(), 0
        tracemalloc.start()
        try:
            known = await blobs.put(KEY, flow(*[PIECE] * PIECES), content_type="text/plain")
            async for piece in blobs.open(KEY):
                digest.update(piece)
                size += len(piece)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert size == known.size == len(PIECE) * PIECES
        assert digest.hexdigest() == known.sha256
        assert peak < FLAT_BYTES

    # --- which blob --------------------------------------------------------------------------------------

    async def test_what_nobody_put_is_not_found_and_named(self, blobs: BlobStore) -> None:
        await put(blobs, key=OTHER)
        assert await blobs.head(KEY) is None
        for read in (blobs.get(KEY), blobs.get(KEY, offset=5, length=0), anext(aiter(blobs.open(KEY)))):
            with pytest.raises(BlobNotFound) as caught:
                await read
            assert caught.value.key == KEY

    async def test_what_is_deleted_is_not_found_and_may_be_deleted_again(self, blobs: BlobStore) -> None:
        await put(blobs)
        await put(blobs, b"other", OTHER)
        for _ in range(2):
            await blobs.delete(KEY)
            assert await blobs.head(KEY) is None
            with pytest.raises(BlobNotFound):
                await blobs.get(KEY)
        assert await blobs.get(OTHER) == b"other"
        await put(blobs, b"again")
        assert await blobs.get(KEY) == b"again"

    async def test_keys_that_differ_at_all_never_meet(self, blobs: BlobStore) -> None:
        names = (*ALIKE, WIDE, WIDE[:-1] + "x")
        keys = [
            *[BlobKey(name, RunId("run_a"), "call_a.1") for name in names],
            *[BlobKey("acme", RunId(name), "call_a.1") for name in names],
            *[BlobKey("acme", RunId("run_a"), name) for name in names],
            BlobKey(WIDE, RunId(WIDE), WIDE),
        ]
        for key in keys:
            await put(blobs, repr(key).encode(), key)
        for key in keys:
            assert await blobs.get(key) == repr(key).encode()
            await blobs.delete(key)
        assert (await blobs.list(None)).items == ()

    # --- damage ------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("content", [pytest.param(b"x", id="a byte"), pytest.param(LARGE, id="large")])
    async def test_content_that_was_changed_is_told_of(self, blobs: BlobStore, content: bytes) -> None:
        await put(blobs, content)
        await put(blobs, content, OTHER)
        await self.corrupt(blobs, KEY)
        with pytest.raises(BlobCorrupt) as caught:
            await blobs.get(KEY)
        assert caught.value.key == KEY
        with pytest.raises(BlobCorrupt):
            await pieces_of(blobs.open(KEY))
        assert await blobs.get(OTHER) == content
        await put(blobs, content)
        assert await blobs.get(KEY) == content

    @pytest.mark.parametrize("chunk", [0, -1])
    async def test_a_piece_has_a_byte_at_least(self, blobs: BlobStore, chunk: int) -> None:
        await put(blobs)

        async def read() -> AsyncGenerator[bytes]:
            async for piece in blobs.open(KEY, chunk=chunk):
                yield piece

        with pytest.raises(ValueError):
            await pieces_of(read())

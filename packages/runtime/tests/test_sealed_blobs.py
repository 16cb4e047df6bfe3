"""Blobs that are sealed at rest read like plain ones, in every range, and by nobody without the key."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.core.tests.codecs import SealingCodec
from psych_runtime import BlobCorrupt, BlobKey, BlobNotFound, RunId
from psych_runtime.testing import FakeClock
from psych_runtime_core.ports.sealed_blobs import FIRST_LOOK, SEALED_TYPE, SealedBlobs
from psych_runtime_core.ports.sealed_frames import FRAME_BYTES
from psych_runtime_core.scope import Scope
from psych_runtime_memory.blobs import InMemoryBlobStore

KEY = BlobKey("acme", RunId("run_1"), "call_1.1")
OTHER = BlobKey("acme", RunId("run_1"), "call_1.2")
LARGE = bytes(at % 251 for at in range(3 * FRAME_BYTES + 77))


class StrictCodec(SealingCodec):
    """Refuses a broken seal with `ValueError`; with `padded`, equal contents seal to different lengths."""

    def __init__(self, *, padded: bool = False) -> None:
        super().__init__()
        self._padded = padded

    def seal(self, content: bytes, *, scope: Scope, bound: bytes) -> bytes:
        sealed = super().seal(content, scope=scope, bound=bound)
        pad = len(bound) * 7 % 50 if self._padded else 0
        return sealed + bytes([pad]) * (pad + 1)

    def open(self, sealed: bytes, *, scope: Scope, bound: bytes) -> bytes | None:
        try:
            return super().open(sealed[: -sealed[-1] - 1], scope=scope, bound=bound)
        except AssertionError as error:
            raise ValueError("another seal") from error


@pytest.fixture
def inner() -> InMemoryBlobStore:
    return InMemoryBlobStore(clock=FakeClock())


@pytest.fixture
def codec() -> StrictCodec:
    return StrictCodec()


@pytest.fixture
def blobs(inner: InMemoryBlobStore, codec: StrictCodec) -> SealedBlobs:
    return SealedBlobs(inner, codec)


EDGES = [0, 1, 77, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 2 * FRAME_BYTES, len(LARGE), len(LARGE) + 9]


@pytest.mark.parametrize("offset", EDGES)
@pytest.mark.parametrize("length", [*EDGES, None])
async def test_a_range_is_a_plain_slice(blobs: SealedBlobs, offset: int, length: int | None) -> None:
    await blobs.put(KEY, LARGE, content_type="text/plain")
    expected = LARGE[offset:] if length is None else LARGE[offset : offset + length]
    assert await blobs.get(KEY, offset=offset, length=length) == expected


@settings(max_examples=60, deadline=None)
@given(
    size=st.one_of(st.integers(0, 300), st.integers(FRAME_BYTES - 2, 2 * FRAME_BYTES + 2)),
    cuts=st.lists(st.integers(0, 2 * FRAME_BYTES), max_size=6),
    offset=st.integers(0, 2 * FRAME_BYTES + 9),
    length=st.one_of(st.none(), st.integers(0, 2 * FRAME_BYTES)),
    chunk=st.integers(1_000, FRAME_BYTES * 2),
    padded=st.booleans(),
)
def test_whatever_its_size_and_pieces_it_reads_like_a_plain_blob(
    size: int, cuts: list[int], offset: int, length: int | None, chunk: int, padded: bool
) -> None:
    content = LARGE[:size]

    async def compare() -> None:
        blobs = SealedBlobs(InMemoryBlobStore(clock=FakeClock()), StrictCodec(padded=padded))
        put = await blobs.put(KEY, in_pieces(content, cuts), content_type="text/plain", metadata={"a": "ä"})
        assert (put.size, put.sha256) == (size, hashlib.sha256(content).hexdigest())
        assert await blobs.head(KEY) == put
        assert await blobs.get(KEY, offset=offset, length=length) == sliced(content, offset, length)
        pieces = [piece async for piece in blobs.open(KEY, chunk=chunk)]
        assert pieces == [content[at : at + chunk] for at in range(0, size, chunk)]

    anyio.run(compare)


def sliced(content: bytes, offset: int, length: int | None) -> bytes:
    return content[offset:] if length is None else content[offset : offset + length]


async def in_pieces(content: bytes, cuts: list[int]) -> AsyncIterator[bytes]:
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    for start, end in pairwise(places):
        yield content[start:end]


async def test_the_store_behind_sees_neither_content_nor_type_nor_metadata(
    blobs: SealedBlobs, inner: InMemoryBlobStore
) -> None:
    await blobs.put(KEY, b"secret" * 100, content_type="text/x-secret", metadata={"secret": "secret"})
    stored = await inner.head(KEY)
    assert stored is not None
    assert (stored.content_type, stored.metadata) == (SEALED_TYPE, {})
    assert b"secret" not in await inner.get(KEY)


async def test_a_long_table_of_contents_is_read_too(blobs: SealedBlobs) -> None:
    told = {f"key {at}": "x" * 250 for at in range(32)}
    assert sum(map(len, told.values())) < FIRST_LOOK
    content = LARGE * 8
    await blobs.put(KEY, content, content_type="text/plain", metadata={**told, "key 0": "ä" * 256})
    found = await blobs.head(KEY)
    assert found is not None
    assert found.metadata == {**told, "key 0": "ä" * 256}
    assert await blobs.get(KEY) == content


async def test_a_blob_that_was_stored_before_it_was_sealed_reads_as_ever(
    blobs: SealedBlobs, inner: InMemoryBlobStore
) -> None:
    put = await inner.put(KEY, b"plain", content_type="text/plain")
    assert await blobs.get(KEY, offset=1, length=2) == b"la"
    assert [piece async for piece in blobs.open(KEY)] == [b"plain"]
    assert await blobs.head(KEY) == put
    assert (await blobs.list("acme")).items == ((KEY, put),)


async def test_a_listing_tells_of_the_content(blobs: SealedBlobs) -> None:
    put = await blobs.put(KEY, b"one", content_type="text/plain")
    other = await blobs.put(OTHER, b"another", content_type="text/html")
    assert (await blobs.list("acme", KEY.run_id)).items == ((KEY, put), (OTHER, other))
    first = await blobs.list(None, limit=1)
    assert first.items == ((KEY, put),)
    assert (await blobs.list(None, cursor=first.cursor)).items == ((OTHER, other),)


async def test_a_damaged_blob_hides_no_other(blobs: SealedBlobs, inner: InMemoryBlobStore) -> None:
    await blobs.put(KEY, b"one", content_type="text/plain")
    other = await blobs.put(OTHER, b"another", content_type="text/html")
    await inner.put(KEY, (await inner.get(KEY))[:-20], content_type=SEALED_TYPE)
    with pytest.raises(BlobCorrupt):
        await blobs.head(KEY)
    assert (await blobs.list("acme")).items == ((KEY, await inner.head(KEY)), (OTHER, other))


async def test_nothing_is_there_when_its_key_is_destroyed(
    blobs: SealedBlobs, inner: InMemoryBlobStore, codec: StrictCodec
) -> None:
    await blobs.put(KEY, b"one", content_type="text/plain")
    codec.destroy("acme")
    assert await blobs.head(KEY) is None
    with pytest.raises(BlobNotFound):
        await blobs.get(KEY)
    with pytest.raises(BlobNotFound):
        await anext(aiter(blobs.open(KEY)))
    assert (await blobs.list("acme")).items == ((KEY, await inner.head(KEY)),)
    assert await blobs.delete_run("acme", KEY.run_id) == 1
    assert await inner.head(KEY) is None


async def test_an_absent_blob_is_not_found(blobs: SealedBlobs) -> None:
    assert await blobs.head(KEY) is None
    with pytest.raises(BlobNotFound):
        await blobs.get(KEY)
    await blobs.put(KEY, b"one", content_type="text/plain")
    await blobs.delete(KEY)
    with pytest.raises(BlobNotFound):
        await anext(aiter(blobs.open(KEY)))


def turned(sealed: bytes, at: int) -> bytes:
    return sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a bit of the first frame": lambda sealed: turned(sealed, 3),
    "a bit of the table": lambda sealed: turned(sealed, len(sealed) - 20),
    "a bit of the length": lambda sealed: turned(sealed, len(sealed) - 1),
    "a length beyond all": lambda sealed: turned(sealed, len(sealed) - 8),
    "the first frame left out": lambda sealed: sealed[FRAME_BYTES:],
    "its end cut off": lambda sealed: sealed[:-1],
    "nothing left": lambda sealed: b"",
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damage_is_found(blobs: SealedBlobs, inner: InMemoryBlobStore, damage: str) -> None:
    await blobs.put(KEY, LARGE, content_type="text/plain")
    damaged = DAMAGES[damage](await inner.get(KEY))
    await inner.put(KEY, damaged, content_type=SEALED_TYPE)
    with pytest.raises(BlobCorrupt):
        await blobs.get(KEY)
    with pytest.raises(BlobCorrupt):
        [piece async for piece in blobs.open(KEY)]


async def test_two_frames_that_changed_places_are_found(blobs: SealedBlobs, inner: InMemoryBlobStore) -> None:
    await blobs.put(KEY, LARGE, content_type="text/plain")
    sealed, frame = await inner.get(KEY), FRAME_BYTES + 65
    swapped = sealed[frame : 2 * frame] + sealed[:frame] + sealed[2 * frame :]
    await inner.put(KEY, swapped, content_type=SEALED_TYPE)
    with pytest.raises(BlobCorrupt):
        await blobs.get(KEY, length=5)


async def test_a_blob_under_another_key_is_found(blobs: SealedBlobs, inner: InMemoryBlobStore) -> None:
    await blobs.put(KEY, b"mine", content_type="text/plain")
    await inner.put(OTHER, await inner.get(KEY), content_type=SEALED_TYPE)
    with pytest.raises(BlobCorrupt):
        await blobs.get(OTHER)


async def test_a_reader_whose_blob_is_replaced_is_told(blobs: SealedBlobs) -> None:
    await blobs.put(KEY, LARGE, content_type="text/plain")
    reader = aiter(blobs.open(KEY, chunk=FRAME_BYTES))
    await anext(reader)
    await blobs.put(KEY, bytes(len(LARGE)), content_type="text/plain")
    with pytest.raises(BlobCorrupt):
        [piece async for piece in reader]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"content_type": "text/plain", "metadata": {"a": "x" * 257}}, id="long metadata"),
        pytest.param({"content_type": ""}, id="no type"),
    ],
)
async def test_what_no_blob_has_is_refused_before_anything_is_stored(
    blobs: SealedBlobs, inner: InMemoryBlobStore, given: dict[str, Any]
) -> None:
    with pytest.raises(ValueError):
        await blobs.put(KEY, b"one", **given)
    assert await inner.head(KEY) is None


@pytest.mark.parametrize("bad", [{"offset": -1}, {"length": -1}])
async def test_a_negative_range_is_refused(blobs: SealedBlobs, bad: dict[str, int]) -> None:
    await blobs.put(KEY, b"one", content_type="text/plain")
    with pytest.raises(ValueError):
        await blobs.get(KEY, **bad)


async def test_a_chunk_has_a_byte_at_least(blobs: SealedBlobs) -> None:
    await blobs.put(KEY, b"one", content_type="text/plain")
    with pytest.raises(ValueError):
        blobs.open(KEY, chunk=0)

"""Content codings, undone in bounded pieces: whole, cut, broken, stacked, and made to burst."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.egress_packing import PACK
from psych_runtime.egress import codings
from psych_runtime.egress.codings import INSTALLED, PIECE_BYTES, BrokenCoding, codings_in, decoder_of
from psych_runtime.egress.unpackers import Inflater


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


WAYS = [*PACK.items(), ("deflate", bare_deflate)]
EACH = pytest.mark.parametrize(
    ("coding", "pack"), WAYS, ids=["gzip", "deflate", "br", "zstd", "deflate without its frame"]
)


def unpacked(names: list[str], data: bytes, size: int) -> tuple[bytes, bool]:
    """What `data` is, fed in pieces of `size`, and whether it ended."""
    decoder = decoder_of(names)
    pieces: list[bytes] = []
    for start in range(0, len(data), size):
        pieces.extend(decoder.feed(data[start : start + size]))
    assert all(len(piece) <= PIECE_BYTES for piece in pieces)
    return b"".join(pieces), decoder.whole()


def test_all_codings_are_installed_here() -> None:
    assert set(INSTALLED) == set(PACK)


@EACH
@given(data=st.binary(max_size=400), size=st.integers(1, 64))
def test_what_was_packed_comes_out_in_whatever_pieces_it_came(
    coding: str, pack: Callable[[bytes], bytes], data: bytes, size: int
) -> None:
    assert unpacked([coding], pack(data), size) == (data, True)


@EACH
def test_what_is_cut_anywhere_has_not_ended(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"a story that goes on and on and on")
    for end in range(1, len(packed)):
        assert not unpacked([coding], packed[:end], 7)[1]


@EACH
def test_a_bomb_comes_out_piece_by_piece(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(bytes(24 * PIECE_BYTES))
    decoder = decoder_of([coding])
    tracemalloc.start()
    size = sum(len(piece) for piece in decoder.feed(packed))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size == 24 * PIECE_BYTES
    assert peak < 4 * PIECE_BYTES


@pytest.mark.parametrize(
    "stack", [["gzip", "br"], ["br", "gzip"], ["zstd", "deflate"], ["gzip", "gzip"]], ids=str
)
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_stacked_codings_are_undone_from_the_last_to_the_first(stack: list[str], size: int) -> None:
    packed = b"words " * 1000
    for coding in stack:
        packed = PACK[coding](packed)
    assert unpacked(stack, packed, size) == (b"words " * 1000, True)
    assert not unpacked(stack, packed[:-3], size)[1]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [1, 5, 4096])
def test_several_members_in_a_row_are_one_body(coding: str, size: int) -> None:
    packed = PACK[coding](b"one ") + PACK[coding](b"") + PACK[coding](b"two")
    assert unpacked([coding], packed, size) == (b"one two", True)
    assert not unpacked([coding], packed[:-2], size)[1]


@pytest.mark.parametrize("behind", [b"\0" * 20, b"\x1f", b"junk\x1f\x8b", b"\x1f\x8a" * 9])
@pytest.mark.parametrize("size", [1, 5, 4096])
def test_what_stands_behind_a_gzip_member_and_is_none_is_left_out(behind: bytes, size: int) -> None:
    assert unpacked(["gzip"], gzip.compress(b"all of it") + behind, size) == (b"all of it", True)


@EACH
@pytest.mark.parametrize("size", [3, 4096])
def test_what_was_never_packed_is_broken(coding: str, pack: Callable[[bytes], bytes], size: int) -> None:
    with pytest.raises(BrokenCoding):
        unpacked([coding], b"<html>this was never packed</html>", size)


class Counted:
    """An unpacker whose steps, and the bytes that it is fed, are counted."""

    steps = 0
    fed = 0

    def __init__(self, wbits: int) -> None:
        self.inner = Inflater(wbits)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        Counted.steps += 1
        Counted.fed += len(data)
        return self.inner.decompress(data, max_length)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    monkeypatch.setattr(Counted, "steps", 0)
    monkeypatch.setattr(Counted, "fed", 0)
    monkeypatch.setattr(codings, "Inflater", Counted)
    return Counted


EMPTY = gzip.compress(b"")
STEPWISE = {
    "empty members": (["gzip"], EMPTY * 3000),
    "empty members, packed": (["gzip", "gzip"], gzip.compress(EMPTY * 3000)),
    "empty blocks": (["deflate"], zlib.compress(b"")[:2] + b"\0\0\0\xff\xff" * 99_999),
    "a bomb in a bomb": (["gzip", "gzip"], gzip.compress(gzip.compress(bytes(24 * PIECE_BYTES)))),
}


@pytest.mark.parametrize("what", STEPWISE)
def test_each_step_is_little_work_also_when_it_gives_nothing(what: str, counted: type[Counted]) -> None:
    names, packed = STEPWISE[what]
    steps, before = 0, 0
    for _ in decoder_of(names).feed(packed):
        assert counted.steps - before <= 1
        steps, before = steps + 1, counted.steps
    assert steps >= 6


@pytest.mark.parametrize(
    "member", [EMPTY, gzip.compress(random.Random(7).randbytes(700))], ids=["empty", "small"]
)
def test_many_members_are_no_more_work_for_each_than_few(member: bytes, counted: type[Counted]) -> None:
    for members in (10, 1400):
        counted.fed = 0
        assert unpacked(["gzip"], member * members, PIECE_BYTES)[1]
        assert counted.fed < 30 * members * len(member)


@pytest.mark.parametrize(("members", "goes"), [(40, True), (41, False)])
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_members_are_bounded_in_number(
    coding: str, members: int, goes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codings, "MAX_MEMBERS", 40)
    packed = PACK[coding](b"") * members
    if goes:
        assert unpacked([coding], packed, 4096) == (b"", True)
    else:
        with pytest.raises(BrokenCoding, match="over 40 members"):
            unpacked([coding], packed, 4096)


def test_what_comes_out_between_two_layers_is_counted() -> None:
    inner = gzip.compress(b"x") * 1000
    decoder = decoder_of(["gzip", "gzip"])
    assert sum(map(len, decoder.feed(gzip.compress(inner)))) == 1000
    assert decoder.between == len(inner)


@pytest.mark.parametrize("inner", ["gzip", "deflate"])
def test_behind_the_end_of_the_inner_layer_the_outer_one_is_undone_no_further(
    inner: str, counted: type[Counted]
) -> None:
    decoder = decoder_of([inner, "gzip"])
    packed = gzip.compress(PACK[inner](b"all of it") + bytes(64 * PIECE_BYTES))
    assert b"".join(decoder.feed(packed)) == b"all of it"
    assert decoder.over
    assert decoder.whole()
    assert decoder.between < 2 * PIECE_BYTES
    assert counted.steps < 5


def test_a_zstd_window_of_more_than_8_mib_is_broken() -> None:
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 27}
    packer = zstd.ZstdCompressor(options=options)
    packed = packer.compress(bytes(1000)) + packer.flush()
    with pytest.raises(BrokenCoding):
        unpacked(["zstd"], packed, 4096)


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("", ()),
        ("identity", ()),
        ("gzip", ("gzip",)),
        ("GZip , identity,BR", ("gzip", "br")),
        ("x-gzip", ("gzip",)),
        ("compress", ("compress",)),
    ],
)
def test_what_a_content_encoding_names(header: str, names: tuple[str, ...]) -> None:
    assert codings_in(header) == names

"""Content on its way into a blob, and the bounds of what is read of one."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.ports import blob
from psych_runtime_core.ports.blob import check_chunk, pieces


async def streamed(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(1, 8))
async def test_pieces_have_their_size_however_content_comes(parts: list[bytes], size: int) -> None:
    whole = b"".join(parts)
    expected = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert [piece async for piece in pieces(streamed(parts), size)] == expected
    assert [piece async for piece in pieces(whole, size)] == expected


async def test_content_that_goes_on_too_long_is_stopped_before_it_is_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blob, "MAX_BLOB_BYTES", 10)
    assert [piece async for piece in pieces(streamed([b"12345"] * 2), 5)] == [b"12345"] * 2
    got: list[bytes] = []
    with pytest.raises(ValueError, match="at most 10 bytes"):
        got.extend([piece async for piece in pieces(streamed([b"12345", b"123456"]), 5)])
    assert got == []


@pytest.mark.parametrize("chunk", [0, -1])
def test_a_piece_has_a_byte_at_least(chunk: int) -> None:
    check_chunk(1)
    with pytest.raises(ValueError, match="1 byte or more"):
        check_chunk(chunk)

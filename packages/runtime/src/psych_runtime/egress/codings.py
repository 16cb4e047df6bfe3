"""Content codings, undone in pieces of at most 1 MiB, so that a small body cannot unpack to a large buffer."""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Protocol

PIECE_BYTES = 1024 * 1024
MAX_STACKED = 5

_ALIASES = {"x-gzip": "gzip"}
_GZIP_MAGIC = b"\x1f\x8b"
# RFC 9659: whoever sends zstd over HTTP keeps its window within 8 MiB.
_ZSTD_WINDOW_LOG = 23


class BrokenCoding(Exception):
    """A body is not what its content-encoding says."""


class Decoder(Protocol):
    """Undoes a coding. `whole` says whether what was fed so far ends where the coding does."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...
    def whole(self) -> bool: ...


def decoder_of(codings: Sequence[str]) -> Decoder:
    """Undoes `codings`, given in the order they were applied in. Each has to be installed."""
    decoders = [_CODINGS[coding]() for coding in reversed(codings)]
    return decoders[0] if len(decoders) == 1 else _Stack(decoders)


def codings_in(header: str) -> tuple[str, ...]:
    """The codings that a content-encoding names, in its order, `identity` left out."""
    names = (name.strip().lower() for name in header.split(","))
    return tuple(_ALIASES.get(name, name) for name in names if name not in {"", "identity"})


class _Stack:
    def __init__(self, decoders: Sequence[Decoder]) -> None:
        self._decoders = decoders

    def feed(self, data: bytes) -> Iterator[bytes]:
        pieces = iter((data,))
        for decoder in self._decoders:
            pieces = _through(decoder, pieces)
        return pieces

    def whole(self) -> bool:
        return all(decoder.whole() for decoder in self._decoders)


def _through(decoder: Decoder, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from decoder.feed(piece)


class _Inflate:
    """What zlib unpacks. After a first member there may be more of them; what is none is no part of the body."""

    def __init__(self, wbits: int, magic: bytes) -> None:
        self._wbits, self._magic = wbits, magic
        self._member = zlib.decompressobj(wbits)
        self._behind = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data := self._next_member(data):
            try:
                while piece := self._member.decompress(data, PIECE_BYTES):
                    yield piece
                    data = self._member.unconsumed_tail
            except zlib.error as error:
                raise BrokenCoding(str(error)) from None
            data = self._member.unused_data

    def whole(self) -> bool:
        return self._member.eof

    def _next_member(self, data: bytes) -> bytes:
        """What is to be unpacked of `data`; a new member is begun once its first bytes are all there."""
        if not self._member.eof:
            return data
        self._behind = (self._behind + data)[: max(len(self._magic), len(data) + len(self._behind))]
        return b""


class _Brotli:
    def __init__(self) -> None:
        assert _brotli is not None
        self._error: type[Exception] = _brotli.error
        self._decompressor = _brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            # Its buffer grows to nearly twice the limit.
            yield self._decompressor.process(data, output_buffer_limit=PIECE_BYTES // 2)
            while not self._decompressor.can_accept_more_data():
                yield self._decompressor.process(b"", output_buffer_limit=PIECE_BYTES // 2)
        except self._error as error:
            raise BrokenCoding(str(error)) from None

    def whole(self) -> bool:
        return bool(self._decompressor.is_finished())

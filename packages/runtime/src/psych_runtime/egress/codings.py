"""Content codings, undone in pieces of at most 1 MiB: no small body unpacks to a large buffer at once."""

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


class _Gzip:
    """One member, or several in a row. What follows and is none is no part of the body."""

    def __init__(self) -> None:
        self._member = _gunzip()
        self._held = b""
        self._over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        while data and not self._over:
            if self._member.eof:
                if not data.startswith(_GZIP_MAGIC):
                    self._held = data if _GZIP_MAGIC.startswith(data) else b""
                    self._over = not self._held
                    return
                self._member = _gunzip()
            yield from _inflated(self._member, data)
            data = self._member.unused_data

    def whole(self) -> bool:
        return self._member.eof


class _Deflate:
    """Within zlib's frame, as the standard has it, or without, as some servers do."""

    def __init__(self) -> None:
        self._body: _Member | None = None
        self._held = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._body is None:
            data = self._held = self._held + data
            if len(data) < 2:
                return
            framed = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
            self._body = zlib.decompressobj(zlib.MAX_WBITS if framed else -zlib.MAX_WBITS)
        if not self._body.eof:
            yield from _inflated(self._body, data)

    def whole(self) -> bool:
        return self._body is not None and self._body.eof


class _Member(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _gunzip() -> _Member:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def _inflated(member: _Member, data: bytes) -> Iterator[bytes]:
    try:
        while piece := member.decompress(data, PIECE_BYTES):
            yield piece
            data = member.unconsumed_tail
    except zlib.error as error:
        raise BrokenCoding(str(error)) from None


def _installed(name: str, decompressor: str, bounded_by: str) -> ModuleType | None:
    """An optional package; None too for one too old to be told how much to unpack at a time."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    return module if hasattr(getattr(module, decompressor), bounded_by) else None


_brotli = _installed("brotli", "Decompressor", "can_accept_more_data")
_zstd = _installed(
    "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", "ZstdDecompressor", "needs_input"
)


class _Brotli:
    def __init__(self) -> None:
        assert _brotli is not None
        self._error: type[Exception] = _brotli.error
        self._decompressor = _brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            # Its buffer grows to nearly twice the limit. It may have more to give when it takes more.
            piece = self._decompressor.process(data, output_buffer_limit=PIECE_BYTES // 2)
            while piece or not self._decompressor.can_accept_more_data():
                yield piece
                piece = self._decompressor.process(b"", output_buffer_limit=PIECE_BYTES // 2)
        except self._error as error:
            raise BrokenCoding(str(error)) from None

    def whole(self) -> bool:
        return bool(self._decompressor.is_finished())


class _Zstd:
    """One frame, or several in a row."""

    def __init__(self) -> None:
        self._frame = self._begin()

    def feed(self, data: bytes) -> Iterator[bytes]:
        assert _zstd is not None
        try:
            while data:
                if self._frame.eof:
                    self._frame = self._begin()
                yield self._frame.decompress(data, PIECE_BYTES)
                while not (self._frame.eof or self._frame.needs_input):
                    yield self._frame.decompress(b"", PIECE_BYTES)
                data = self._frame.unused_data if self._frame.eof else b""
        except _zstd.ZstdError as error:
            raise BrokenCoding(str(error)) from None

    def whole(self) -> bool:
        return bool(self._frame.eof)

    def _begin(self) -> _Frame:
        assert _zstd is not None
        options = {_zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
        frame: _Frame = _zstd.ZstdDecompressor(options=options)
        return frame


class _Frame(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


_CODINGS: dict[str, Callable[[], Decoder]] = {"gzip": _Gzip, "deflate": _Deflate}
if _brotli is not None:
    _CODINGS["br"] = _Brotli
if _zstd is not None:
    _CODINGS["zstd"] = _Zstd

INSTALLED = tuple(_CODINGS)

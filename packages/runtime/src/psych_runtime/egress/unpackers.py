"""One member of a packed body, undone in bounded pieces: the libraries that do it, behind one face."""

from __future__ import annotations

import importlib
import sys
import zlib
from types import ModuleType
from typing import Protocol

# RFC 9659: whoever sends zstd over HTTP keeps its window within 8 MiB.
_ZSTD_WINDOW_LOG = 23


class Unpacker(Protocol):
    """Gives at most `max_length` bytes at a time, and has more to give until it needs input or is at its end.

    `unused_data` is what was fed beyond its end.
    """

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Inflater:
    """Deflate, in whatever frame the `wbits` of zlib say."""

    def __init__(self, wbits: int) -> None:
        self._member = zlib.decompressobj(wbits)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._member.decompress(self._member.unconsumed_tail + data, max_length)
        # One that is full may have left more behind, although all of the input went in.
        self.needs_input = not self._member.unconsumed_tail and len(piece) < max_length
        return piece


def _installed(name: str, decompressor: str, bounded_by: str) -> ModuleType | None:
    """An optional package; None too for one too old to be told how much to unpack at a time."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    return module if hasattr(getattr(module, decompressor), bounded_by) else None


brotli = _installed("brotli", "Decompressor", "can_accept_more_data")
zstd = _installed(
    "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", "ZstdDecompressor", "needs_input"
)


class Brotli:
    """Brotli, where its package is installed."""

    def __init__(self) -> None:
        assert brotli is not None
        self._decompressor = brotli.Decompressor()
        self.needs_input = True
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        return bool(self._decompressor.is_finished())

    def decompress(self, data: bytes, max_length: int) -> bytes:
        # Its buffer grows to nearly twice the limit. It may have more to give when it takes more.
        piece: bytes = self._decompressor.process(data, output_buffer_limit=max_length // 2)
        self.needs_input = not piece and bool(self._decompressor.can_accept_more_data())
        return piece


def zstd_frame() -> Unpacker:
    """One frame of zstd, where its package is installed."""
    assert zstd is not None
    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    frame: Unpacker = zstd.ZstdDecompressor(options=options)
    return frame


UNPACKING_ERRORS: tuple[type[Exception], ...] = (
    zlib.error,
    *([brotli.error] if brotli else []),
    *([zstd.ZstdError] if zstd else []),
)

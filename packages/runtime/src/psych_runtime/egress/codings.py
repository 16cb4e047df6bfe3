"""Content codings, undone in steps of at most 1 MiB: no small body unpacks to a large buffer at once."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from psych_runtime.egress.unpackers import (
    UNPACKING_ERRORS,
    Brotli,
    Inflater,
    Unpacker,
    brotli,
    zstd,
    zstd_frame,
)

PIECE_BYTES = 1024 * 1024
MAX_STACKED = 2
MAX_MEMBERS = 65_536
"""Members in a row that a body may have: each costs time, and may unpack to nothing."""

_ALIASES = {"x-gzip": "gzip"}
_GZIP_MAGIC = b"\x1f\x8b"
# A member is fed in slices that grow: what was fed beyond its end is copied, and fed once more to the next.
_FIRST_SLICE = 512
_LAST_SLICE = 65_536


class BrokenCoding(Exception):
    """A body is not what its content-encoding says."""


class Decoder(Protocol):
    """Undoes a coding, step by step: a step is little work, and may give nothing.

    `over`: what comes from here on is no part of the body. `whole`: what was fed ends where the coding does.
    `between` is how many bytes came out of a layer that another one undoes.
    """

    @property
    def over(self) -> bool: ...
    @property
    def between(self) -> int: ...
    def feed(self, data: bytes) -> Iterator[bytes]: ...
    def whole(self) -> bool: ...


def decoder_of(codings: Sequence[str]) -> Decoder:
    """Undoes `codings`, one or two, given in the order they were applied in. Each has to be installed."""
    *inner, outer = (_Members(coding, _CODINGS[coding]) for coding in codings)
    return _Twice(outer, inner[0]) if inner else outer


def codings_in(header: str) -> tuple[str, ...]:
    """The codings that a content-encoding names, in its order, `identity` left out."""
    names = (name.strip().lower() for name in header.split(","))
    return tuple(_ALIASES.get(name, name) for name in names if name not in {"", "identity"})


class _Twice:
    """A coding within another."""

    def __init__(self, outer: Decoder, inner: Decoder) -> None:
        self._outer, self._inner = outer, inner
        self.between = 0

    @property
    def over(self) -> bool:
        return self._inner.over or self._outer.over

    def feed(self, data: bytes) -> Iterator[bytes]:
        for piece in self._outer.feed(data):
            self.between += len(piece)
            yield b""
            yield from self._inner.feed(piece)
            if self._inner.over:
                return

    def whole(self) -> bool:
        return self._inner.whole() and (self._inner.over or self._outer.whole())


class _Coding(NamedTuple):
    """How a member begins, and whether one more follows: both told by two bytes, None by too few."""

    begin: Callable[[bytes], Unpacker | None]
    goes_on: Callable[[bytes], bool | None]


class _Members:
    """One member, or several in a row."""

    between = 0

    def __init__(self, name: str, coding: _Coding) -> None:
        self._name, self._coding = name, coding
        self._member: Unpacker | None = None
        self._members, self._slice = 0, _FIRST_SLICE
        self._held = b""
        self.over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        try:
            yield from self._undone(data)
        except UNPACKING_ERRORS:
            raise BrokenCoding(f"its {self._name} is broken") from None

    def whole(self) -> bool:
        return self._member is not None and self._member.eof

    def _undone(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            member = self._member_at(data[at : at + 2])
            if member is None:
                self._held = b"" if self.over else data[at:]
                return
            part = data[at : at + self._slice]
            yield member.decompress(part, PIECE_BYTES)
            while not (member.eof or member.needs_input):
                yield member.decompress(b"", PIECE_BYTES)
            at += len(part) - (len(member.unused_data) if member.eof else 0)
            self._slice = min(2 * self._slice, _LAST_SLICE)

    def _member_at(self, head: bytes) -> Unpacker | None:
        """The member that goes on or begins here, if there is one and enough of it to tell."""
        if self._member is not None and not self._member.eof:
            return self._member
        follows = True if self._member is None else self._coding.goes_on(head)
        self.over = self.over or follows is False
        begun = self._coding.begin(head) if follows and not self.over else None
        if begun is None:
            return None
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise BrokenCoding(f"its {self._name} has over {MAX_MEMBERS} members")
        self._member, self._slice = begun, _FIRST_SLICE
        return begun


def _gzip_goes_on(head: bytes) -> bool | None:
    """What stands behind a member and is none is no part of the body."""
    if head == _GZIP_MAGIC[:1]:
        return None
    return head == _GZIP_MAGIC


def _inflate(head: bytes) -> Unpacker | None:
    """Within zlib's frame, as the standard has it, or without, as some servers do."""
    if len(head) < 2:
        return None
    framed = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head) % 31 == 0
    return Inflater(zlib.MAX_WBITS if framed else -zlib.MAX_WBITS)


def _gunzip(_head: bytes) -> Unpacker:
    return Inflater(zlib.MAX_WBITS | 16)


def _unbrotli(_head: bytes) -> Unpacker:
    return Brotli()


def _unzstd(_head: bytes) -> Unpacker:
    return zstd_frame()


def _one(_head: bytes) -> bool:
    """No member follows another."""
    return False


def _many(_head: bytes) -> bool:
    """Whatever follows a member is one."""
    return True


_CODINGS = {"gzip": _Coding(_gunzip, _gzip_goes_on), "deflate": _Coding(_inflate, _one)}
if brotli is not None:
    _CODINGS["br"] = _Coding(_unbrotli, _one)
if zstd is not None:
    _CODINGS["zstd"] = _Coding(_unzstd, _many)

INSTALLED = tuple(_CODINGS)

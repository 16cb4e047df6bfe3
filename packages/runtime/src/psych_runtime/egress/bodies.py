"""The body of a reply: unpacked once, in pieces, counted unpacked, and never read past its cap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import anyio.lowlevel
import httpx2

from psych_runtime.egress.codings import (
    INSTALLED,
    MAX_STACKED,
    PIECE_BYTES,
    BrokenCoding,
    Decoder,
    codings_in,
    decoder_of,
)
from psych_runtime.egress.headers import EVENT_STREAM
from psych_runtime.egress.hop import Hop
from psych_runtime.pace import Pace
from psych_runtime_core.errors import RequestFailed, ResponseTooLarge

if TYPE_CHECKING:
    from psych_runtime.egress.passage import Passage

_NO_BODY = {204, 304}
# An error names a coding in words of ours alone: what a server calls its own may be anything.
_KNOWN = {"br", "compress", "deflate", "gzip", "zstd"}
# One read of the socket may hold ten thousand pieces, and others want to run in between.
_PIECES_IN_A_ROW = 8


def asked_for(headers: httpx2.Headers) -> frozenset[str]:
    """The codings a reply may come in; `accept-encoding` is set to what is asked for.

    A caller's own wish is obeyed, as far as it is installed. A stream of events is asked for as it is, for
    what waits in a compressor comes late; servers that pack it all the same are understood.
    """
    wish = headers.get("accept-encoding")
    names = INSTALLED if wish is None else _wished(wish)
    plain = not names or (wish is None and EVENT_STREAM in headers.get("accept", ""))
    headers["accept-encoding"] = "identity" if plain else ", ".join(names)
    return frozenset(names)


def _wished(header: str) -> tuple[str, ...]:
    weights = dict(_weighed(part) for part in header.lower().split(","))
    other = weights.get("*", 0.0)
    return tuple(name for name in INSTALLED if weights.get(name, other) > 0)


def _weighed(part: str) -> tuple[str, float]:
    name, _, weight = part.partition(";")
    try:
        return name.strip(), float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        return name.strip(), 1.0


def decoder_for(headers: httpx2.Headers, codings: frozenset[str], origin: str) -> Decoder | None:
    """How a body is to be unpacked, None for one that is not packed; raises for a coding nobody asked for."""
    named = codings_in(headers.get("content-encoding", ""))
    odd = set(named) - codings
    if odd:
        told = ", ".join(sorted(odd)) if odd <= _KNOWN else "a coding"
        raise RequestFailed(origin, "encoding", f"it came in {told}, which was not asked for", sent=True)
    if len(named) > MAX_STACKED:
        detail = f"it is packed {len(named)} times, and at most {MAX_STACKED} are undone"
        raise RequestFailed(origin, "encoding", detail, sent=True)
    return decoder_of(named) if named else None


def refuse_stated_length(hop: Hop, headers: httpx2.Headers, max_bytes: int | None) -> None:
    """`ResponseTooLarge` for a body that says itself that it is over its cap, of which nothing is read."""
    if max_bytes is None or hop.asked.method == "HEAD" or hop.status in _NO_BODY:
        return
    if int(headers.get("content-length", "0")) > max_bytes:
        raise ResponseTooLarge(hop.asked.origin, max_bytes)


class Body(httpx2.AsyncByteStream):
    """What a reader of the reply iterates over. Left early, it closes the connection at once."""

    def __init__(self, passage: Passage, decoder: Decoder | None, max_bytes: int | None) -> None:
        self._passage, self._decoder, self._max = passage, decoder, max_bytes
        self._pieces: Iterator[bytes] = iter(())
        self._pace = Pace(_PIECES_IN_A_ROW)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await (self._as_it_came() if self._decoder is None else self._next_of(self._decoder))
        except StopAsyncIteration:
            await self._passage.end()
            raise
        except BaseException as error:
            await self._passage.end(error)
            raise

    async def aclose(self) -> None:
        await self._passage.end()

    async def _as_it_came(self) -> bytes:
        """The next bytes of a body that is not packed."""
        hop = self._passage.hop
        if self._pace.is_over():
            await anyio.lowlevel.checkpoint()
        while not (data := await self._passage.more()):
            if data is None:
                raise StopAsyncIteration
        hop.bytes_in += len(data)
        hop.decoded_bytes_in = hop.bytes_in
        self._hold_to(hop.bytes_in)
        return data

    async def _next_of(self, decoder: Decoder) -> bytes:
        """The next bytes of a packed body."""
        while True:
            # A few bytes may take many steps, whether they unpack to much or to nothing.
            await anyio.lowlevel.checkpoint()
            piece = self._unpacked(decoder)
            if piece:
                return piece
            if piece is None and not await self._more(decoder):
                raise StopAsyncIteration

    def _unpacked(self, decoder: Decoder) -> bytes | None:
        """What the next step of unpacking gives, maybe nothing; None when more must come first."""
        try:
            piece = next(self._pieces, None)
        except BrokenCoding as error:
            raise self._broken(str(error)) from None
        hop = self._passage.hop
        hop.decoded_bytes_in += len(piece or b"")
        self._hold_to(hop.decoded_bytes_in)
        # Bytes that unpack to nothing must not be worked on for ever either; what is packed may be larger.
        self._hold_to(decoder.between - PIECE_BYTES)
        return piece

    async def _more(self, decoder: Decoder) -> bool:
        """Whether more came; what came is then to be unpacked."""
        if decoder.over:
            return False
        hop, data = self._passage.hop, await self._passage.more()
        if data is None:
            if hop.bytes_in and not decoder.whole():
                raise self._broken("it is cut")
            return False
        hop.bytes_in += len(data)
        self._hold_to(hop.bytes_in - PIECE_BYTES)
        self._pieces = decoder.feed(data)
        return True

    def _hold_to(self, size: int) -> None:
        if self._max is not None and size > self._max:
            raise ResponseTooLarge(self._passage.origin, self._max)

    def _broken(self, detail: str) -> RequestFailed:
        return RequestFailed(
            self._passage.origin, "encoding", f"the body does not unpack: {detail}", sent=True
        )

"""A body of server-sent events, read as UTF-8 whatever it says of itself."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import NamedTuple, cast

import httpx2
from anyio.lowlevel import checkpoint

from psych_runtime.pace import Pace
from psych_runtime_core.errors import ResponseTooLarge

# It takes a mark of byte order off the beginning, in however many pieces that comes.
_UTF8 = getincrementaldecoder("utf-8-sig")
# One piece of a body may hold ten thousand events, and others want to run in between.
_EVENTS_IN_A_ROW = 8


class ServerEvent(NamedTuple):
    """One event. `whole` False: the body ended inside it, so its data may be cut."""

    name: str
    data: str
    whole: bool


async def server_events(
    pieces: AsyncIterator[bytes], *, origin: str, max_event_bytes: int
) -> AsyncGenerator[ServerEvent, None]:
    """The events of a body that comes in `pieces`, already decoded from gzip and the like.

    Raises `ResponseTooLarge` for an event beyond the limit, when so many bytes of it are in; and whatever
    `pieces` raises.
    """
    text = _Text(pieces)
    source = httpx2.EventSource(_Rewrapped(text, origin), max_event_size=max_event_bytes)
    told = cast("AsyncGenerator[httpx2.ServerSentEvent, None]", aiter(source))
    async with aclosing(text.chunks), aclosing(told) as events:
        pace = Pace(_EVENTS_IN_A_ROW)
        try:
            async for event in events:
                yield ServerEvent(event.event, event.data, whole=not text.ended)
                if pace.is_over():
                    await checkpoint()
        except httpx2.SSEError:
            raise ResponseTooLarge(origin, max_event_bytes) from None


class _Text:
    """The text of a body, and whether it is at its end."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self.ended = False
        self.chunks = self._decoded(pieces)

    async def _decoded(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
        decoder = _UTF8(errors="replace")
        async for piece in pieces:
            yield decoder.decode(piece)
        self.ended = True
        # An empty line ends the last event, and a line before it that has no end.
        yield decoder.decode(b"", final=True) + "\n\n"


class _Rewrapped(httpx2.Response):
    """A response of the one content type that the parser takes, whose text is decoded here."""

    def __init__(self, text: _Text, origin: str) -> None:
        super().__init__(
            200, headers={"content-type": "text/event-stream"}, request=httpx2.Request("GET", origin)
        )
        self._decoded_here = text.chunks

    def aiter_text(self, chunk_size: int | None = None) -> AsyncIterator[str]:  # noqa: ARG002 - of the base
        return self._decoded_here

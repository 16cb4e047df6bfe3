"""A reply as the events of a stream: one JSON document, server-sent events, or no answer at all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from psych_runtime.egress.sse import ServerEvent, server_events
from psych_runtime.model.chat.reply.payload import Payload, read_payload
from psych_runtime.model.chat.reply.pieces import Patience, Pieces
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.model.errors.replies import CallErrors, error_of_reply
from psych_runtime.model.errors.words import size_to_read
from psych_runtime.pace import AT_ONCE, Pace, beside
from psych_runtime_core.errors import ModelError, RequestFailed, ResponseTooLarge
from psych_runtime_core.ports.model import StreamEvent

if TYPE_CHECKING:
    from datetime import datetime

    import httpx2

MAX_EVENT_BYTES = 8 * 1024 * 1024
MAX_BLANKS = 64 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply is read with: the errors of its call, where it came from, and the patience at its end."""

    errors: CallErrors
    origin: str
    patience: Patience


async def reply_events(
    response: httpx2.Response, chat: ChatStream, reading: Reading, received_at: datetime
) -> AsyncGenerator[StreamEvent, None]:
    """The events of a reply that `chat` reads, `StreamDone` last.

    Raises `ModelError`, `RequestFailed`, `ResponseTooLarge`.
    """
    async with aclosing(response.aiter_raw()) as body:
        pieces = Pieces(body, reading.patience)
        opening = await _opening(pieces) if response.status_code == 200 else b""
        if not opening or opening == b"<" or _is_page(response):
            shown = await _up_to(pieces, size_to_read(reading.errors.secrets))
            raise error_of_reply(response.status_code, response.headers, shown, reading.errors, received_at)
        if opening == b"{":
            for event in await _whole(pieces, chat, reading):
                yield event
            return
        async with aclosing(_streamed(pieces, chat, reading)) as events:
            async for event in events:
                yield event


def _is_page(response: httpx2.Response) -> bool:
    return "text/html" in response.headers.get("content-type", "").lower()


async def _opening(pieces: Pieces) -> bytes:
    """The first byte that says something; none of an empty body. What was read for it is read again."""
    head = bytearray()
    async for piece in pieces:
        head += piece
        says = piece.strip() and _first(head) and not BYTE_ORDER_MARK.startswith(head)
        if says or len(head) > MAX_BLANKS:
            break
    pieces.put_back(bytes(head))
    return _first(head)


def _first(head: bytearray) -> bytes:
    return bytes(head.removeprefix(BYTE_ORDER_MARK).lstrip()[:1])


async def _up_to(pieces: Pieces, limit: int) -> bytes:
    """The beginning of a body. One that breaks off says what it said until then."""
    read = bytearray()
    try:
        async for piece in pieces:
            read += piece
            if len(read) >= limit:
                break
    except RequestFailed:
        # What the status says is an error already; the body only tells more of it.
        pass
    return bytes(read[:limit])


async def _whole(pieces: Pieces, chat: ChatStream, reading: Reading) -> list[StreamEvent]:
    """The events of a reply that came as one JSON document."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_EVENT_BYTES:
            raise ResponseTooLarge(reading.origin, MAX_EVENT_BYTES)

    def read() -> list[StreamEvent]:
        payload = read_payload(body.decode("utf-8-sig", "replace"), reading.errors)
        return chat.whole(payload.chunks[0] if payload.chunks else {})

    return read() if len(body) <= AT_ONCE else await beside(read)


async def _streamed(pieces: Pieces, chat: ChatStream, reading: Reading) -> AsyncGenerator[StreamEvent, None]:
    """The events of a reply that came as server-sent events."""
    done, pace = False, Pace(AT_ONCE)
    async with aclosing(
        server_events(pieces, origin=reading.origin, max_event_bytes=MAX_EVENT_BYTES)
    ) as told:
        async for event in told:
            read = partial(_payload, event, chat, reading.errors, done=done)
            payload = read() if len(event.data) <= AT_ONCE else await beside(read)
            size = len(event.data) // max(len(payload.chunks), 1)
            for chunk in payload.chunks:
                if done:
                    chat.late(chunk)
                    continue
                feed = partial(chat.feed, chunk, event.name)
                for heard in feed() if size <= AT_ONCE else await beside(feed):
                    yield heard
                if pace.is_over(size):
                    await checkpoint()
            done = done or payload.done
            if done:
                pieces.done()
            elif chat.finished and payload.chunks:
                pieces.finish()
    for heard in chat.end(done):
        yield heard


def _payload(event: ServerEvent, chat: ChatStream, errors: CallErrors, *, done: bool) -> Payload:
    """What an event holds; of one that nobody can read nothing, once the answer is there."""
    try:
        payload = read_payload(event.data, errors)
    except ModelError as unreadable:
        if event.name == "error":
            return Payload((event.data,))
        # A stream that ends inside an event: whether that matters is known from what came before it.
        if done or chat.finished or not event.whole:
            return Payload()
        unreadable.request_id = chat.request_id
        raise
    is_error = event.name == "error" and not payload.chunks
    return Payload((event.data,)) if is_error else payload

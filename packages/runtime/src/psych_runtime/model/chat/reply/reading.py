"""A reply as the events of a stream: one JSON document, server-sent events, or no answer at all."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

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
# One event of a reply may let out a hundred thousand, and others want to run in between.
_EVENTS_IN_A_ROW = 64

Events: TypeAlias = Sequence[StreamEvent]


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
        pace = Pace(_EVENTS_IN_A_ROW)
        read = _whole if opening == b"{" else _streamed
        async with aclosing(read(pieces, chat, reading)) as heard:
            async for events in heard:
                for event in events:
                    yield event
                    if pace.is_over():
                        await checkpoint()


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


async def _whole(pieces: Pieces, chat: ChatStream, reading: Reading) -> AsyncGenerator[Events, None]:
    """The events of a reply that came as one JSON document."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_EVENT_BYTES:
            raise ResponseTooLarge(reading.origin, MAX_EVENT_BYTES)

    def read() -> Events:
        payload = read_payload(body.decode("utf-8-sig", "replace"), reading.errors)
        return chat.whole(payload.chunks[0] if payload.chunks else {})

    yield read() if len(body) <= AT_ONCE else await beside(read)


async def _streamed(pieces: Pieces, chat: ChatStream, reading: Reading) -> AsyncGenerator[Events, None]:
    """The events of a reply that came as server-sent events, of each all that it lets out."""
    done, size, pace = False, 0, Pace(AT_ONCE)
    async with aclosing(
        server_events(pieces, origin=reading.origin, max_event_bytes=MAX_EVENT_BYTES)
    ) as told:
        async for event in told:
            hear = partial(_heard, event, chat, reading.errors, done=done)
            # It may be one chunk or many, and one of many may be nearly all of it.
            heard = hear() if len(event.data) <= AT_ONCE else await beside(hear)
            yield heard.events
            if heard.error is not None:
                raise heard.error
            size += len(event.data)
            if pace.is_over(len(event.data)):
                await checkpoint()
            done = done or heard.payload.done
            if done:
                pieces.done()
            elif chat.finished and heard.payload.chunks:
                pieces.finish()
    # Nearly all of it may have waited for the end.
    end = partial(chat.end, done)
    yield end() if size <= AT_ONCE else await beside(end)


class _Heard(NamedTuple):
    """What a server-sent event holds and lets out, and the error that one of its chunks is."""

    payload: Payload
    events: Events
    error: ModelError | None = None


def _heard(event: ServerEvent, chat: ChatStream, errors: CallErrors, *, done: bool) -> _Heard:
    payload = _payload(event, chat, errors, done=done)
    events: list[StreamEvent] = []
    try:
        for chunk in payload.chunks:
            if done:
                chat.late(chunk)
            else:
                events += chat.feed(chunk, event.name)
    except ModelError as error:
        # What was said before it goes out before it.
        return _Heard(payload, events, error)
    return _Heard(payload, events)


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

"""One connection of a stub: requests in, replies out, and an eye on whether the client is still there."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import h11

from psych_runtime.testing.http_replies import Close, Piece, Raw, Reply, SeenRequest
from psych_runtime_core.clock import Clock
from psych_runtime_core.jsonvalue import thaw

MAX_BODY_BYTES = 64 * 1024 * 1024
# Turns of the loop after a packet: a client on the same loop has read it by then, so no two arrive as one.
TURNS = 3
_WITHOUT_BODY = {204, 304}


@dataclass(frozen=True, slots=True)
class Fault:
    """A reply breaks off after so many bytes on the wire, its head included, and the connection is left."""

    after: int
    close: Close


class HttpWire:
    """A connection, number `number` of its stub."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self._reader, self._writer, self._number = reader, writer, number
        self._unread = b""
        self._http = h11.Connection(h11.SERVER)
        # Drained is then sent: a reset afterwards loses nothing.
        writer.transport.set_write_buffer_limits(0)

    async def request(self) -> SeenRequest | None:
        """The next request, None when the client has no more or sends no HTTP."""
        self._http = h11.Connection(h11.SERVER)
        if self._unread:  # none at all would say that the client is gone
            self._http.receive_data(self._unread)
        head: h11.Request | None = None
        body = bytearray()
        try:
            async for event in self._events():
                if isinstance(event, h11.Request):
                    head = event
                else:
                    body += event.data
                if len(body) > MAX_BODY_BYTES:
                    return None
        except (h11.RemoteProtocolError, ConnectionError):
            return None
        self._unread = self._http.trailing_data[0]
        return None if head is None else _seen(head, bytes(body), self._number)

    async def _events(self) -> AsyncIterator[h11.Request | h11.Data]:
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(65_536))
            elif isinstance(event, h11.Request | h11.Data):
                yield event
            else:
                return

    async def watched(self, playing: Awaitable[bool]) -> bool | None:
        """What `playing` gives, or None when the client leaves before that."""
        play, watch = asyncio.ensure_future(playing), asyncio.ensure_future(self._until_gone())
        try:
            await asyncio.wait({play, watch}, return_when=asyncio.FIRST_COMPLETED)
            return play.result() if play.done() else None
        except ConnectionError:
            return None
        finally:
            play.cancel()
            watch.cancel()
            await asyncio.gather(play, watch, return_exceptions=True)

    async def _until_gone(self) -> None:
        """Ends with the client. What it sends meanwhile is kept for the next request."""
        try:
            while more := await self._reader.read(65_536):
                self._unread += more
        except ConnectionError:
            return

    async def play(self, request: SeenRequest, reply: Reply | Raw, clock: Clock, fault: Fault | None) -> bool:
        """Send `reply`, broken off by `fault`. Returns whether the connection takes another request."""
        left = None if fault is None else fault.after
        async for piece in self._pieces(request, reply, clock):
            if left == 0:
                break
            await self._send(piece[:left])
            left = None if left is None else left - len(piece[:left])
        return await self._leave(fault.close if fault else self._close_after(reply))

    async def _pieces(self, request: SeenRequest, reply: Reply | Raw, clock: Clock) -> AsyncIterator[bytes]:
        if isinstance(reply, Raw):
            async for piece in _let_through(reply.chunks):
                yield piece
            return
        if reply.delay_seconds:
            await clock.sleep(reply.delay_seconds)
        if reply.gate is not None:
            await reply.gate.wait()
        body = _body(reply)
        yield self._encoded(h11.Response(status_code=reply.status, headers=_headers(reply, len(body))))
        if request.method != "HEAD" and reply.status not in _WITHOUT_BODY:
            async for piece in _let_through(reply.chunks or (body,)):
                yield self._encoded(h11.Data(data=piece))
        yield self._encoded(h11.EndOfMessage())

    def _encoded(self, event: h11.Event) -> bytes:
        return self._http.send(event) or b""

    async def _send(self, data: bytes) -> None:
        if not data:
            return
        self._writer.write(data)
        await self._writer.drain()
        for _ in range(TURNS):
            await asyncio.sleep(0)

    def _close_after(self, reply: Reply | Raw) -> Close:
        if isinstance(reply, Raw):
            return reply.close
        return "keep" if self._http.our_state is h11.DONE else "clean"

    async def _leave(self, close: Close) -> bool:
        if close == "reset":
            self.reset()
        if close == "half":
            self._writer.write_eof()
        if close in {"hold", "half"}:
            await _for_ever()
        return close == "keep"

    def reset(self) -> None:
        """Close so that the client is told of a reset, not of an end."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close our side, and so the connection."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return


def _seen(head: h11.Request, body: bytes, connection: int) -> SeenRequest:
    headers: dict[str, str] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return SeenRequest(head.method.decode("ascii"), head.target.decode("ascii"), headers, body, connection)


def _body(reply: Reply) -> bytes:
    return reply.body if reply.json is None else json.dumps(thaw(reply.json)).encode()


def _headers(reply: Reply, size: int) -> list[tuple[str, str]]:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    if reply.json is not None:
        headers.setdefault("content-type", "application/json")
    if reply.status not in _WITHOUT_BODY and "content-length" not in headers:
        headers |= {"transfer-encoding": "chunked"} if reply.chunks else {"content-length": str(size)}
    return list(headers.items())


async def _let_through(pieces: Sequence[Piece]) -> AsyncIterator[bytes]:
    """The bytes among `pieces`, each as soon as the gates before it are open."""
    for piece in pieces:
        if isinstance(piece, bytes):
            yield piece
        else:
            await piece.wait()


async def _for_ever() -> NoReturn:
    while True:
        await asyncio.get_running_loop().create_future()

"""Servers that speak TLS, and a proxy, for tests of a transport."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from packages.runtime.tests.egress_scenes import serving_tls

Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere"


@dataclass
class Served:
    """What came to a server: heads of requests, server names of handshakes, connections."""

    port: int = 0
    heads: list[str] = field(default_factory=list[str])
    names: list[str | None] = field(default_factory=list[str | None])
    connections: int = 0
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """Holds back what is behind the head of an answer, until it is set."""

    def __post_init__(self) -> None:
        self.held.set()


@asynccontextmanager
async def https(answer: bytes = OK) -> AsyncGenerator[Served]:
    """Answers each request over TLS alike."""
    served = Served()
    context = serving_tls()
    context.sni_callback = lambda connection, name, _: served.names.append(name)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                served.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
                head, end, body = answer.partition(b"\r\n\r\n")
                writer.write(head + end)
                await served.held.wait()
                writer.write(body)
                await writer.drain()

    async with serving(served, serve, context):
        yield served


@asynccontextmanager
async def proxy(port: int, *, refuses: str | None = None, secure: bool = False) -> AsyncGenerator[Served]:
    """Leads every tunnel to `port`, and answers itself what is sent without one."""
    served = Served()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                served.heads.append(head)
                if refuses is not None:
                    writer.write(f"HTTP/1.1 {refuses}\r\ncontent-length: 0\r\n\r\n".encode())
                elif head.startswith("CONNECT "):
                    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    await tunnel(reader, writer, port)
                    break
                else:
                    writer.write(OK)
                await writer.drain()

    async with serving(served, serve, serving_tls() if secure else None):
        yield served


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    try:
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
    finally:
        far_writer.transport.abort()


@asynccontextmanager
async def serving(served: Served, serve: Serve, context: ssl.SSLContext | None) -> AsyncGenerator[None]:
    tasks: set[asyncio.Task[None]] = set()

    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.transport.abort()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(whole(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # What was aborted is closed in the next rounds of the loop.
        for _ in range(9):
            await asyncio.sleep(0)

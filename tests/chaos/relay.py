"""Stands between a client and the proxy, and knows when the client leaves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Relay:
    """Hands on the bytes of each connection. `left` is set once a client closed one."""

    to: str
    url: str = ""
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = urlsplit(self.to)
        answers, onwards = await asyncio.open_connection(place.hostname, place.port)
        back = asyncio.create_task(hand_on(answers, writer))
        try:
            await hand_on(reader, onwards)
            self.left.set()
        finally:
            back.cancel()
            writer.close()
            onwards.close()


async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything, until there is no more."""
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def relayed(to: str) -> AsyncGenerator[Relay]:
    """A relay to the server at this URL."""
    relay = Relay(to)
    async with await asyncio.start_server(relay.connected, "127.0.0.1", 0) as server:
        relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield relay

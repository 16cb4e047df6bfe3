"""A provider in another process, so that nothing but the client is measured: it streams what its URL says."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection

from benchmarks.processes import started

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
BOMB_HEAD = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
MIB = 1024 * 1024
AT_ONCE = 64
# What an event may say, by what it is: the delta that holds so many characters of it.
DELTAS: Mapping[str, Callable[[str], Mapping[str, object]]] = {
    "text": lambda said: {"content": said},
    "reasoning": lambda said: {"reasoning_content": said},
    "items": lambda said: {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": said}]},
    "arguments": lambda said: {
        "tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": said}}]
    },
    # A piece for each character.
    "fragments": lambda said: {
        "tool_calls": [
            *({"index": index, "function": {"name": "look", "arguments": "{}"}} for index in range(200)),
            *({"function": {"arguments": one}} for one in said),
        ]
    },
    "parts": lambda said: {"content": [{"type": "text", "text": one} for one in said]},
}


@contextmanager
def serving() -> Generator[Provider]:
    """A provider that serves while the block lasts."""
    with started(serve) as other:
        yield Provider(other.pipe.recv())


class Provider:
    """Where it serves."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"

    def streams(self, events: int, size: int = 5, kind: str = "text") -> str:
        """The base URL of an API whose every answer has so many events, of so many characters each."""
        return f"{self.origin}/{kind}/{events}/{size}"

    def bomb(self, mebibytes: int) -> str:
        """The URL of a reply that is a thousandth of what it unpacks to."""
        return f"{self.origin}/bomb/{mebibytes}/"


# --- in the other process ------------------------------------------------------------------------------


def serve(pipe: Connection) -> None:
    """Say where, and serve until killed."""
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    server = await asyncio.start_server(_connected, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def _connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            path = await _asked(reader)
            async for data in _reply(path):
                writer.write(data)
                await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _asked(reader: asyncio.StreamReader) -> str:
    """The path of the next request, once its body is in."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *headers = head.decode("latin-1").split("\r\n")
    named = dict(line.lower().split(": ", 1) for line in headers if line)
    await reader.readexactly(int(named.get("content-length", "0")))
    return first.split(" ")[1]


async def _reply(path: str) -> AsyncIterator[bytes]:
    _, kind, count, size, *_ = path.split("/")
    if kind == "bomb":
        yield BOMB_HEAD
        yield _chunked(gzip.compress(bytes(int(count) * MIB), compresslevel=9)) + _chunked(b"")
        return
    event = _event(delta=DELTAS[kind]("x" * int(size)), finish_reason=None)
    many, rest = divmod(int(count), AT_ONCE)
    yield HEAD
    for _ in range(many):
        yield event * AT_ONCE
    yield (
        event * rest + _event(delta={}, finish_reason="stop") + _chunked(b"data: [DONE]\n\n") + _chunked(b"")
    )


def _event(**choice: object) -> bytes:
    """One chunk of an answer, with all that OpenAI says beside it, in a chunk of HTTP as it sends it."""
    said = {
        "id": "chatcmpl-BkqQ8P2mJ0xR5s7T9uVwXyZaBcDeF",
        "object": "chat.completion.chunk",
        "created": 1750000000,
        "model": "gpt-4o-2024-08-06",
        "service_tier": "default",
        "system_fingerprint": "fp_07871e2ad8",
        "choices": [{"index": 0, "logprobs": None, **choice}],
        "usage": None,
        "obfuscation": "aBcDeFgH",
    }
    return _chunked(b"data: " + json.dumps(said, separators=(",", ":")).encode() + b"\n\n")


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)

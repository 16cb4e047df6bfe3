"""A connection on which more came than the reply is not used again: the next one would be answered by it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from packages.runtime.tests.egress_scenes import ASKED, serving_tls, trusting
from packages.runtime.tests.egress_tls import Served, serving
from psych_runtime.egress import leftover
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Raw
from psych_runtime_core.scope import Scope

POISON = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison"
LENGTH = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhere\r\n0\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"


async def asked_by(transport: HttpTransport, url: str, principal: str, method: str = "GET") -> bytes:
    scope = Scope(tenant="acme", principal=principal)
    given: dict[str, Any] = {**ASKED, "scope": scope, "configured": (url,)}
    return (await transport.request(method, url, **given)).content


@pytest.mark.parametrize("how", ["read", "left", "closed"])
@pytest.mark.parametrize("reply", [LENGTH, CHUNKED, EMPTY], ids=["of a length", "chunked", "empty"])
@pytest.mark.parametrize("more", [b"", POISON, b"\r\n", b"x"], ids=["nothing", "a reply", "a line", "a byte"])
async def test_what_came_beyond_a_reply_is_nobodys_answer(
    more: bytes, reply: bytes, how: str, stub: HttpStub
) -> None:
    stub.on("GET", "/", Raw((reply + more,), close="keep"), Raw((LENGTH,), close="keep"))
    transport = HttpTransport()
    if how == "read":
        await asked_by(transport, stub.url, "ann")
    else:
        async with transport.stream("GET", stub.url, configured=(stub.url,), **ASKED) as response:
            if how == "closed":
                await response.aread()
    assert [await asked_by(transport, stub.url, "bob") for _ in range(2)] == [b"here"] * 2
    reused = not more and how != "left"
    assert [seen.connection for seen in stub.requests] == ([1, 1, 1] if reused else [1, 2, 2])


async def test_a_body_where_none_belongs_is_nobodys_answer(stub: HttpStub) -> None:
    stub.on("HEAD", "/", Raw((LENGTH,), close="keep"))
    stub.on("GET", "/", Raw((LENGTH,), close="keep"))
    transport = HttpTransport()
    await asked_by(transport, stub.url, "ann", "HEAD")
    assert await asked_by(transport, stub.url, "bob") == b"here"
    assert [seen.connection for seen in stub.requests] == [1, 2]


async def test_one_that_waits_for_the_connection_gets_another(stub: HttpStub) -> None:
    stub.on("GET", "/", Raw((LENGTH + POISON,), close="keep"))
    transport = HttpTransport(connections=1)
    replies = await asyncio.gather(*(asked_by(transport, stub.url, f"ann{each}") for each in range(4)))
    assert replies == [b"here"] * 4
    assert [seen.connection for seen in stub.requests] == [1, 2, 3, 4]


@pytest.mark.parametrize("more", [b"", POISON], ids=["nothing", "a reply"])
async def test_what_came_in_a_record_of_its_own_is_nobodys_answer(more: bytes) -> None:
    served = Served()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(LENGTH)
                if more:
                    writer.write(more)

    async with serving(served, serve, serving_tls()):
        transport = HttpTransport(policy=AllowAllEgress(), resolver=here, ssl_context=trusting())
        url = f"https://api.example.com:{served.port}/"
        assert [await asked_by(transport, url, "ann") for _ in range(3)] == [b"here"] * 3
        await transport.aclose()
    assert served.connections == (3 if more else 1)


async def here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def test_where_it_cannot_be_told_the_connection_is_closed(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(reply: object) -> object:
        raise AttributeError

    monkeypatch.setattr(leftover, "_parser_of", unknown)
    stub.on("GET", "/", Raw((LENGTH,), close="keep"))
    transport = HttpTransport()
    for _ in range(2):
        assert await asked_by(transport, stub.url, "ann") == b"here"
    assert [seen.connection for seen in stub.requests] == [1, 2]

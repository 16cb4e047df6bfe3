"""The body of a reply over a socket: unpacked once, held to its cap, its end judged."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import aclosing
from functools import cache
from typing import Any, TypeAlias

import anyio
import pytest

from packages.runtime.tests.egress_packing import PACK, br
from packages.runtime.tests.egress_scenes import ANN, ASKED, Audit, turns_of_others
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Raw, Reply, SeenRequest
from psych_runtime_core.errors import RequestFailed, ResponseTooLarge

MIB = 1024 * 1024


def twice(data: bytes) -> bytes:
    return br(gzip.compress(data))


WAYS_TO_PACK = {**PACK, "gzip, br": twice}


async def by_request(transport: HttpTransport, url: str, **options: Any) -> bytes:
    response = await transport.request("GET", url, configured=(url,), **options, **ASKED)
    assert not {"content-encoding", "content-length"} & set(response.headers)
    return response.content


async def by_stream(transport: HttpTransport, url: str, **options: Any) -> bytes:
    async with transport.stream("GET", url, configured=(url,), **options, **ASKED) as response:
        assert not {"content-encoding", "content-length"} & set(response.headers)
        return b"".join([piece async for piece in response.aiter_bytes()])


async def by_client(transport: HttpTransport, url: str, **options: Any) -> bytes:
    async with transport.client(ANN, purpose="tool", configured=(url,), **options) as client:
        response = await client.get(url)
        assert not {"content-encoding", "content-length"} & set(response.headers)
        return response.content


Way: TypeAlias = Callable[..., Any]
EACH_WAY = pytest.mark.parametrize(
    "way", [by_request, by_stream, by_client], ids=["request", "stream", "client"]
)


@cache
def bomb(coding: str) -> bytes:
    return WAYS_TO_PACK[coding](bytes(24 * MIB))


def packed(coding: str, body: bytes) -> Reply:
    return Reply(body=body, headers={"content-encoding": coding})


@EACH_WAY
@pytest.mark.parametrize("coding", WAYS_TO_PACK)
async def test_a_packed_body_is_unpacked_once(coding: str, way: Way, stub: HttpStub) -> None:
    stub.on("GET", "/", packed(coding, WAYS_TO_PACK[coding](gzip.compress(b"inner"))))
    assert gzip.decompress(await way(HttpTransport(), f"{stub.url}/")) == b"inner"
    assert stub.requests[0].headers["accept-encoding"] == "gzip, deflate, br, zstd"


@EACH_WAY
@pytest.mark.parametrize("coding", WAYS_TO_PACK)
async def test_a_packed_body_that_is_cut_is_a_failure(coding: str, way: Way, stub: HttpStub) -> None:
    stub.on("GET", "/", packed(coding, WAYS_TO_PACK[coding](b"a long story " * 99)[:-5]))
    with pytest.raises(RequestFailed, match="cut") as failed:
        await way(HttpTransport(), f"{stub.url}/")
    assert (failed.value.phase, failed.value.sent) == ("encoding", True)


@EACH_WAY
async def test_a_body_that_was_never_packed_is_a_failure(way: Way, stub: HttpStub) -> None:
    stub.on("GET", "/", packed("gzip", b"<html>no</html>"))
    with pytest.raises(RequestFailed, match="does not unpack"):
        await way(HttpTransport(), f"{stub.url}/")


@EACH_WAY
@pytest.mark.parametrize("coding", WAYS_TO_PACK)
async def test_a_bomb_ends_at_the_cap_in_bounded_memory(coding: str, way: Way, stub: HttpStub) -> None:
    stub.on("GET", "/", packed(coding, bomb(coding)))
    audit = Audit()
    transport = HttpTransport(max_response_bytes=2 * MIB, audit=audit)
    tracemalloc.start()
    with pytest.raises(ResponseTooLarge) as refused:
        await way(transport, f"{stub.url}/")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.limit_bytes == 2 * MIB
    assert peak < 2 * MIB + 4 * MIB
    assert [event.outcome for event in audit.events] == ["failed"]


@EACH_WAY
async def test_an_endless_body_ends_at_the_cap_and_with_it_the_connection(way: Way, stub: HttpStub) -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    stub.on("GET", "/", Raw((head, *[chunk] * 64), close="hold"))
    with pytest.raises(ResponseTooLarge):
        await way(HttpTransport(max_response_bytes=MIB), f"{stub.url}/")
    with anyio.fail_after(5):
        await stub.requests[0].closed_early()


async def test_packed_bytes_that_unpack_to_nothing_do_not_come_for_ever(stub: HttpStub) -> None:
    nothing = b"\0\0\0\xff\xff" * 13_000
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: deflate\r\n\r\n" + zlib.compress(b"")[:2]
    stub.on("GET", "/", Raw((head, *[nothing] * 40), close="hold"))
    with pytest.raises(ResponseTooLarge):
        await by_request(HttpTransport(max_response_bytes=10), f"{stub.url}/")


@EACH_WAY
async def test_a_stated_length_past_the_cap_is_refused_unread(way: Way, stub: HttpStub) -> None:
    stub.on("GET", "/", Raw((b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n",), close="hold"))
    with pytest.raises(ResponseTooLarge):
        await way(HttpTransport(max_response_bytes=10), f"{stub.url}/")


@EACH_WAY
@pytest.mark.parametrize(("size", "fits"), [(10, True), (11, False)])
@pytest.mark.parametrize("chunked", [True, False])
async def test_the_cap_is_the_last_size_that_fits(
    chunked: bool, size: int, fits: bool, way: Way, stub: HttpStub
) -> None:
    stub.on("GET", "/", Reply(chunks=(bytes(size),)) if chunked else Reply(body=bytes(size)))
    if fits:
        assert len(await way(HttpTransport(max_response_bytes=10), f"{stub.url}/")) == size
    else:
        with pytest.raises(ResponseTooLarge):
            await way(HttpTransport(max_response_bytes=10), f"{stub.url}/")


@EACH_WAY
async def test_a_call_may_have_a_cap_of_its_own_or_none(way: Way, stub: HttpStub) -> None:
    stub.on("GET", "/", Reply(body=bytes(100)))
    transport = HttpTransport(max_response_bytes=10)
    assert len(await way(transport, f"{stub.url}/", max_response_bytes=100)) == 100
    assert len(await way(transport, f"{stub.url}/", max_response_bytes=None)) == 100
    with pytest.raises(ResponseTooLarge):
        await way(transport, f"{stub.url}/", max_response_bytes=99)


@pytest.mark.parametrize("status", [200, 204, 304])
@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_a_reply_without_a_body_may_tell_of_any_length_and_coding(
    method: str, status: int, stub: HttpStub
) -> None:
    length = b"" if method == "GET" and status == 200 else b"content-length: 999\r\n"
    head = b"HTTP/1.1 %d OK\r\ncontent-encoding: gzip\r\n%b\r\n" % (status, length)
    stub.on(method, "/", Raw((head,)))
    response = await HttpTransport(max_response_bytes=10).request(
        method, stub.url, configured=(stub.url,), **ASKED
    )
    assert (response.status_code, response.content) == (status, b"")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "gzip, deflate, br, zstd"),
        ({"Accept": "text/event-stream"}, "identity"),
        ({"Accept": "application/json, text/event-stream"}, "identity"),
        ({"Accept-Encoding": "gzip"}, "gzip"),
        ({"Accept-Encoding": "compress, br;q=0.5, gzip;q=0"}, "br"),
        ({"Accept-Encoding": "*"}, "gzip, deflate, br, zstd"),
        ({"Accept-Encoding": "*;q=0"}, "identity"),
        ({"Accept-Encoding": "identity"}, "identity"),
        ({"Accept-Encoding": "compress"}, "identity"),
    ],
    ids=str,
)
async def test_which_codings_are_asked_for(asked: dict[str, str], told: str, stub: HttpStub) -> None:
    stub.on("GET", "/", Reply())
    await HttpTransport().request("GET", stub.url, configured=(stub.url,), headers=asked, **ASKED)
    assert stub.requests[0].headers["accept-encoding"] == told


@pytest.mark.parametrize(
    ("asked", "came", "read"),
    [
        ({}, "compress", False),
        ({}, "gzip, compress", False),
        ({"Accept-Encoding": "identity"}, "gzip", False),
        ({"Accept-Encoding": "br"}, "gzip", False),
        ({"Accept-Encoding": "gzip"}, "x-gzip", True),
        ({"Accept": "text/event-stream"}, "gzip", True),
    ],
    ids=str,
)
async def test_a_coding_that_was_not_asked_for_is_a_failure(
    asked: dict[str, str], came: str, read: bool, stub: HttpStub
) -> None:
    stub.on("GET", "/", packed(came, gzip.compress(b"words")))
    transport = HttpTransport()
    if read:
        assert await by_request(transport, stub.url, headers=asked) == b"words"
    else:
        with pytest.raises(RequestFailed, match="not asked for") as failed:
            await by_request(transport, stub.url, headers=asked)
        assert (failed.value.phase, failed.value.sent) == ("encoding", True)


async def test_a_body_is_unpacked_twice_at_most(stub: HttpStub) -> None:
    stub.on("GET", "/", packed("gzip, gzip, gzip", gzip.compress(b"words")))
    with pytest.raises(RequestFailed, match="packed 3 times") as failed:
        await by_request(HttpTransport(), stub.url)
    assert (failed.value.phase, failed.value.sent) == ("encoding", True)


async def test_what_has_come_is_handed_on_at_once(stub: HttpStub) -> None:
    more = anyio.Event()
    packer = zlib.compressobj(wbits=31)
    first = packer.compress(b"first") + packer.flush(zlib.Z_SYNC_FLUSH)
    last = packer.compress(b"last") + packer.flush()
    stub.on("GET", "/", Reply(chunks=(first, more, last), headers={"content-encoding": "gzip"}))
    async with (
        HttpTransport().stream("GET", stub.url, configured=(stub.url,), **ASKED) as response,
        aclosing(response.aiter_bytes()) as pieces,
    ):
        assert await anext(pieces) == b"first"
        more.set()
        assert [piece async for piece in pieces] == [b"last"]


@EACH_WAY
async def test_a_body_that_ends_before_its_stated_length_is_a_failure(way: Way, stub: HttpStub) -> None:
    stub.on("GET", "/", Raw((b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",)))
    with pytest.raises(RequestFailed) as failed:
        await way(HttpTransport(), f"{stub.url}/")
    assert (failed.value.phase, failed.value.sent) == ("read", True)


async def test_an_upgrade_hands_nobody_the_bare_connection(stub: HttpStub) -> None:
    def upgraded(seen: SeenRequest) -> Raw:
        return Raw((b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nraw",), close="hold")

    stub.on("GET", "/", upgraded)
    async with HttpTransport().stream(
        "GET", stub.url, configured=(stub.url,), headers={"Upgrade": "x", "Connection": "upgrade"}, **ASKED
    ) as response:
        assert response.status_code == 101
        assert "network_stream" not in response.extensions


async def test_others_run_while_a_little_unpacks_to_much(stub: HttpStub) -> None:
    stub.on("GET", "/", packed("gzip", bomb("gzip")))
    options: dict[str, Any] = {"configured": (stub.url,), "max_response_bytes": None, **ASKED}
    async with turns_of_others() as turns, HttpTransport().stream("GET", stub.url, **options) as response:
        seen = [turns() async for _ in response.aiter_bytes()]
    assert len(set(seen)) == len(seen) >= 24

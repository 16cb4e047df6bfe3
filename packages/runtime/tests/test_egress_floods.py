"""Replies that want to be worked on without an end: others run in between, and it ends."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import httpcore2
import pytest

from packages.runtime.tests.egress_scenes import ASKED, turns_of_others
from psych_runtime.egress.codings import PIECE_BYTES
from psych_runtime.egress.hop import Hop, hop_of_this_task
from psych_runtime.egress.sse import server_events
from psych_runtime.egress.target import hop_of
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.egress.unpackers import Inflater
from psych_runtime.egress.wire import MAX_HEAD_BYTES, Wire
from psych_runtime.testing.http_stub import HttpStub, Raw, Reply
from psych_runtime_core.errors import RequestFailed, ResponseTooLarge

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"


def longest_run(ticks: list[int]) -> int:
    """The most things that happened without another task running in between."""
    return max(ticks.count(tick) for tick in set(ticks))


async def test_others_run_while_one_read_holds_thousands_of_pieces(stub: HttpStub) -> None:
    stub.on("GET", "/", Raw((CHUNKED + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n",)))
    options: dict[str, Any] = {"configured": (stub.url,), **ASKED}
    async with turns_of_others() as turns, HttpTransport().stream("GET", stub.url, **options) as response:
        ticks = [turns() async for _ in response.aiter_bytes()]
    assert len(ticks) == 5000
    assert longest_run(ticks) <= 8


async def test_a_flood_of_pieces_can_be_left_at_any_time(stub: HttpStub) -> None:
    stub.on("GET", "/", Raw((CHUNKED, *[b"1\r\nx\r\n" * 10_000] * 50), close="hold"))
    pieces = 0

    async def read() -> None:
        nonlocal pieces
        options: dict[str, Any] = {"configured": (stub.url,), "max_response_bytes": None, **ASKED}
        async with HttpTransport().stream("GET", stub.url, **options) as response:
            async for _ in response.aiter_bytes():
                pieces += 1

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        while pieces < 100:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert pieces < 200
    with anyio.fail_after(1):
        await stub.requests[0].closed_early()


async def test_others_run_while_one_piece_holds_thousands_of_events() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"data: x\n\n" * 3000

    events = server_events(pieces(), origin="https://a.example:443", max_event_bytes=100)
    async with turns_of_others() as turns:
        ticks = [turns() async for _ in events]
    assert len(ticks) == 3000
    assert longest_run(ticks) <= 8


EMPTY = gzip.compress(b"")
NOTHING = {
    "members": ("gzip", EMPTY * 3000),
    "packed members": ("gzip, gzip", gzip.compress(EMPTY * 3000)),
}


@pytest.mark.parametrize("what", NOTHING)
async def test_others_run_while_much_unpacks_to_nothing(
    what: str, stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    coding, body = NOTHING[what]
    stub.on("GET", "/", Reply(body=body, headers={"content-encoding": coding}))
    unpack, ticks = Inflater.decompress, list[int]()
    async with turns_of_others() as turns:

        def counted(self: Inflater, data: bytes, max_length: int) -> bytes:
            ticks.append(turns())
            return unpack(self, data, max_length)

        monkeypatch.setattr(Inflater, "decompress", counted)
        response = await HttpTransport().request("GET", stub.url, configured=(stub.url,), **ASKED)
    assert response.content == b""
    assert len(ticks) >= 3000
    assert longest_run(ticks) <= 2


async def test_what_comes_out_between_two_layers_is_held_to_the_cap(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = b"\0\0\0\xff\xff" * (4 * PIECE_BYTES // 5)
    body = gzip.compress(zlib.compress(b"")[:2] + blocks)
    stub.on("GET", "/", Raw((b"HTTP/1.1 200 OK\r\ncontent-encoding: deflate, gzip\r\n\r\n", body)))
    unpack, fed = Inflater.decompress, 0

    def counted(self: Inflater, data: bytes, max_length: int) -> bytes:
        nonlocal fed
        fed += len(data)
        return unpack(self, data, max_length)

    monkeypatch.setattr(Inflater, "decompress", counted)
    with pytest.raises(ResponseTooLarge):
        await HttpTransport(max_response_bytes=10).request("GET", stub.url, configured=(stub.url,), **ASKED)
    assert fed < 2 * PIECE_BYTES


async def test_a_body_ends_where_its_inner_layer_does(stub: HttpStub) -> None:
    body = gzip.compress(gzip.compress(b"all of it") + bytes(64 * PIECE_BYTES))
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip, gzip\r\n\r\n"
    stub.on("GET", "/", Raw((head + body,), close="hold"))
    response = await HttpTransport(max_response_bytes=None).request(
        "GET", stub.url, configured=(stub.url,), **ASKED
    )
    assert response.content == b"all of it"
    with anyio.fail_after(1):
        await stub.requests[0].closed_early()


async def test_replies_that_announce_another_do_not_come_for_ever(stub: HttpStub) -> None:
    stub.on("GET", "/", Raw((INTERIM * (2 * MAX_HEAD_BYTES // len(INTERIM)),), close="hold"))
    with pytest.raises(RequestFailed, match=f"over {MAX_HEAD_BYTES} bytes") as failed:
        await HttpTransport().request("GET", stub.url, configured=(stub.url,), **ASKED)
    assert (failed.value.phase, failed.value.sent) == ("read", True)
    with anyio.fail_after(1):
        await stub.requests[0].closed_early()


async def test_a_few_replies_that_announce_another_are_passed_over(stub: HttpStub) -> None:
    reply = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere"
    stub.on("GET", "/", Raw((INTERIM * 100, reply), close="keep"))
    transport = HttpTransport()
    for _ in range(2):
        response = await transport.request("GET", stub.url, configured=(stub.url,), **ASKED)
        assert (response.status_code, response.content) == (200, b"here")
    assert stub.connections == 1


class Endless(anyio.abc.ByteStream):
    """Has the same to say whenever it is asked."""

    asked_for = 0

    async def receive(self, max_bytes: int = 65536) -> bytes:
        self.asked_for = max_bytes
        await anyio.lowlevel.checkpoint()
        return INTERIM

    async def send(self, item: bytes) -> None: ...
    async def send_eof(self) -> None: ...
    async def aclose(self) -> None: ...


@pytest.mark.parametrize(
    ("status", "reads", "size"), [(None, 30, 16384), (200, 100, 65536)], ids=["of a head", "of a body"]
)
async def test_a_head_has_one_time_for_all_of_it_and_a_body_one_for_each_read(
    status: int | None, reads: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, done = anyio.current_time(), 0
    monkeypatch.setattr("psych_runtime.egress.wire.anyio.current_time", lambda: began + done)
    endless = Endless()
    wire = Wire(endless, "127.0.0.1")
    hop = Hop(hop_of("GET", "http://127.0.0.1/", scope=ASKED["scope"], purpose="tool"))
    token = hop_of_this_task.set(hop)
    try:
        await wire.write(b"GET / HTTP/1.1\r\n\r\n", 30)
        hop.status = status
        try:
            while done < 100:
                assert await wire.read(65536, 30) == INTERIM
                done += 1
        except httpcore2.ReadTimeout:
            pass
    finally:
        hop_of_this_task.reset(token)
    assert (done, endless.asked_for) == (reads, size)


def test_the_bound_of_a_head_leaves_room_for_the_largest_one() -> None:
    largest = httpcore2.AsyncHTTP11Connection.MAX_INCOMPLETE_EVENT_SIZE
    assert largest < MAX_HEAD_BYTES < 2 * largest

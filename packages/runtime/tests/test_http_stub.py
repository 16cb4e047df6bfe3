"""The stub speaks HTTP as a provider does, breaks it as asked, and knows what its client did."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from h11 import LocalProtocolError

from psych_runtime.testing.clock import FakeClock
from psych_runtime.testing.http_stub import Answer, HttpStub, Raw, Reply, SeenRequest, UnexpectedRequest

GET_A = b"GET /a HTTP/1.1\r\nHost: here\r\n\r\n"
RAW_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
async def client(stub: HttpStub) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=stub.url, trust_env=False, timeout=5) as made:
        yield made


@asynccontextmanager
async def dialled(stub: HttpStub) -> AsyncGenerator[anyio.abc.SocketStream]:
    """A bare connection that has asked for `/a`."""
    port = int(stub.url.rpartition(":")[2])
    with anyio.fail_after(5):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(GET_A)
            yield stream


async def packets(stream: anyio.abc.SocketStream) -> list[bytes]:
    """What comes until the end, packet by packet."""
    return [packet async for packet in stream]


# --- good replies --------------------------------------------------------------------------------------


async def test_a_json_reply_and_what_is_kept_of_its_request(
    stub: HttpStub, client: httpx2.AsyncClient
) -> None:
    stub.on("POST", "/v1/chat", Reply(status=201, json={"a": [1]}, headers={"X-Id": "7"}))
    reply = await client.post("/v1/chat?x=1&x=%20&y=", json={"q": "ü"}, headers={"X-Key": "k"})
    assert (reply.status_code, reply.json(), reply.headers["x-id"]) == (201, {"a": [1]}, "7")
    (seen,) = stub.requests
    assert (seen.method, seen.target, seen.path) == ("POST", "/v1/chat?x=1&x=%20&y=", "/v1/chat")
    assert (seen.query, seen.params) == ("x=1&x=%20&y=", [("x", "1"), ("x", " "), ("y", "")])
    assert (seen.headers["x-key"], seen.json, seen.connection) == ("k", {"q": "ü"}, 1)
    assert seen.closed_early_at is None


async def test_replies_come_in_turn_and_the_last_repeats(stub: HttpStub, client: httpx2.AsyncClient) -> None:
    stub.on("GET", "/a", Reply(status=503), Reply(body=b"late"))
    assert [(await client.get("/a")).content for _ in range(3)] == [b"", b"late", b"late"]


async def test_one_connection_serves_request_after_request(
    stub: HttpStub, client: httpx2.AsyncClient
) -> None:
    stub.on(
        "GET", "/a", Reply(body=b"x"), Reply(chunks=(b"y", b"z")), Reply(status=204), Raw([RAW_OK], "keep")
    )
    assert [(await client.get("/a")).content for _ in range(4)] == [b"x", b"yz", b"", b"ok"]
    assert stub.connections == 1
    assert {request.connection for request in stub.requests} == {1}


async def test_a_client_that_wants_its_connection_closed_gets_it_closed(
    stub: HttpStub, client: httpx2.AsyncClient
) -> None:
    stub.on("GET", "/a", Reply(body=b"x"))
    for _ in range(2):
        await client.get("/a", headers={"connection": "close"})
    assert stub.connections == 2


async def test_the_head_of_a_reply_has_no_body(stub: HttpStub, client: httpx2.AsyncClient) -> None:
    stub.on("HEAD", "/a", Reply(body=b"four"))
    reply = await client.head("/a")
    assert (reply.headers["content-length"], reply.content) == ("4", b"")


async def test_a_function_of_the_request_makes_the_reply(stub: HttpStub, client: httpx2.AsyncClient) -> None:
    async def later(request: SeenRequest) -> Reply:
        await asyncio.sleep(0)
        return Reply(body=request.body[::-1])

    stub.on("POST", "/a", lambda request: Reply(body=request.body.upper()), later)
    assert [(await client.post("/a", content=b"abc")).content for _ in range(2)] == [b"ABC", b"cba"]


# --- bytes and packets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [pytest.param(1, id="single bytes"), pytest.param(7, id="sevens")])
async def test_each_piece_of_a_raw_reply_arrives_as_a_packet(stub: HttpStub, size: int) -> None:
    pieces = [RAW_OK[at : at + size] for at in range(0, len(RAW_OK), size)]
    stub.on("GET", "/a", Raw(pieces))
    async with dialled(stub) as stream:
        assert await packets(stream) == pieces


async def test_a_raw_reply_is_not_corrected(stub: HttpStub) -> None:
    stub.on("GET", "/a", Raw([b"HTTP/9.9 no\n", b"\xff"]))
    async with dialled(stub) as stream:
        assert await packets(stream) == [b"HTTP/9.9 no\n", b"\xff"]


async def test_chunks_of_a_reply_arrive_one_by_one(stub: HttpStub, client: httpx2.AsyncClient) -> None:
    stub.on("GET", "/a", Reply(chunks=(b"a", b"bc", b"d")))
    async with client.stream("GET", "/a") as reply:
        assert [chunk async for chunk in reply.aiter_raw()] == [b"a", b"bc", b"d"]


async def test_a_gate_holds_what_is_behind_it(stub: HttpStub, client: httpx2.AsyncClient) -> None:
    gate = anyio.Event()
    stub.on("GET", "/a", Reply(chunks=(b"before", gate, b"after")))
    async with client.stream("GET", "/a") as reply:
        chunks = reply.aiter_raw()
        assert await anext(chunks) == b"before"
        gate.set()
        assert [chunk async for chunk in chunks] == [b"after"]


async def test_a_held_reply_sends_no_head_before_its_gate_opens(stub: HttpStub) -> None:
    gate = anyio.Event()
    stub.on("GET", "/a", Reply(body=b"x", gate=gate))
    async with dialled(stub) as stream:
        await stub.wait_for(1)
        await anyio.wait_all_tasks_blocked()
        gate.set()
        assert (await stream.receive()).startswith(b"HTTP/1.1 200")


async def test_a_delay_is_slept_on_the_clock_of_the_stub() -> None:
    clock = FakeClock()
    async with HttpStub(clock=clock) as stub:
        stub.on("GET", "/a", Reply(body=b"x", delay_seconds=90))
        async with dialled(stub) as stream:
            await stub.wait_for(1)
            await clock.advance(89)
            assert clock.sleepers == 1
            await clock.advance(1)
            assert (await stream.receive()).startswith(b"HTTP/1.1 200")


# --- faults --------------------------------------------------------------------------------------------


async def test_a_cut_reply_ends_after_so_many_bytes(stub: HttpStub) -> None:
    stub.on("GET", "/a", Raw([RAW_OK[:10], RAW_OK[10:]]))
    stub.cut_after(12)
    async with dialled(stub) as stream:
        assert b"".join(await packets(stream)) == RAW_OK[:12]


async def test_a_fault_is_spent_by_one_reply(stub: HttpStub, client: httpx2.AsyncClient) -> None:
    stub.on("GET", "/a", Reply(body=b"x"))
    stub.cut_after(0)
    with pytest.raises(httpx2.RemoteProtocolError):
        await client.get("/a")
    assert (await client.get("/a")).content == b"x"


@pytest.mark.parametrize("after", [0, 9])
async def test_a_reset_is_seen_as_one_and_loses_nothing_before_it(stub: HttpStub, after: int) -> None:
    stub.on("GET", "/a", Raw([RAW_OK]))
    stub.reset(after)
    async with dialled(stub) as stream:
        if after:
            assert await stream.receive() == RAW_OK[:after]
        with pytest.raises(anyio.BrokenResourceError):
            await stream.receive()


async def test_a_raw_reply_can_end_in_a_reset(stub: HttpStub) -> None:
    stub.on("GET", "/a", Raw([b"a", b"b"], "reset"))
    async with dialled(stub) as stream:
        assert [await stream.receive(), await stream.receive()] == [b"a", b"b"]
        with pytest.raises(anyio.BrokenResourceError):
            await stream.receive()


async def test_a_half_closed_connection_still_hears_the_client_leave(stub: HttpStub) -> None:
    stub.on("GET", "/a", Raw([RAW_OK]))
    stub.half_close(5)
    async with dialled(stub) as stream:
        assert await packets(stream) == [RAW_OK[:5]]
        assert stub.requests[0].closed_early_at is None
    with anyio.fail_after(5):
        await stub.requests[0].closed_early()


# --- a client that leaves ------------------------------------------------------------------------------


async def slow(request: SeenRequest) -> Reply:
    await anyio.sleep_forever()
    return Reply()


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(gate=anyio.Event()), id="before the head of a held reply"),
        pytest.param(Reply(delay_seconds=3600), id="in the delay"),
        pytest.param(Reply(chunks=(b"some", anyio.Event())), id="in the body"),
        pytest.param(Raw([RAW_OK], "hold"), id="after all bytes, held open"),
        pytest.param(slow, id="while a function makes the reply"),
    ],
)
async def test_a_client_that_leaves_early_is_noticed(stub: HttpStub, reply: Reply | Raw) -> None:
    stub.on("GET", "/a", reply)
    async with dialled(stub):
        (seen,) = await stub.wait_for(1)
        assert seen.closed_early_at is None
    with anyio.fail_after(5):
        assert await seen.closed_early() == seen.closed_early_at


async def test_a_client_that_leaves_in_a_hang_is_noticed(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply())
    stub.hang(after=4)
    async with dialled(stub) as stream:
        assert await stream.receive() == b"HTTP"
    with anyio.fail_after(5):
        await stub.requests[0].closed_early()


async def test_a_client_that_leaves_in_a_flood_is_noticed(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(body=b"x" * 16 * 1024 * 1024))
    async with dialled(stub) as stream:
        await stream.receive()
    with anyio.fail_after(5):
        await stub.requests[0].closed_early()


async def test_a_request_sent_before_the_reply_came_is_answered_next(stub: HttpStub) -> None:
    stub.on("GET", "/a", Raw([b"one"], "keep"), Raw([b"two"]))
    async with dialled(stub) as stream:
        await stream.send(GET_A)
        assert b"".join(await packets(stream)) == b"onetwo"


# --- what is wrong with a test -------------------------------------------------------------------------


async def ask(path: str, answer: Answer, error: type[Exception] | None = None) -> None:
    """A test of its own, which asks a stub that knows `POST /a` and may go wrong itself."""
    async with HttpStub() as stub, httpx2.AsyncClient(trust_env=False) as client:
        stub.on("POST", "/a", answer)
        await client.post(stub.url + path)
        if error is not None:
            raise error


async def test_a_path_that_nobody_named_is_an_error_at_the_end() -> None:
    with pytest.raises(UnexpectedRequest, match=r"no reply for POST /b\?c=1; it knows POST /a"):
        await ask("/b?c=1", Reply())


async def test_a_path_that_nobody_named_gets_a_404(client: httpx2.AsyncClient) -> None:
    stub = HttpStub()
    await stub.__aenter__()
    reply = await client.get(f"{stub.url}/b")
    with pytest.raises(UnexpectedRequest):
        await stub.__aexit__(None, None, None)
    assert (reply.status_code, reply.json()) == (404, {"error": "no reply for GET /b"})


async def test_the_error_of_a_reply_function_comes_out_at_the_end() -> None:
    def broken(request: SeenRequest) -> Reply:
        raise KeyError("wanted")

    with pytest.raises(KeyError, match="wanted"):
        await ask("/a", broken)


async def test_a_reply_that_is_no_http_comes_out_at_the_end() -> None:
    stub = HttpStub()
    await stub.__aenter__()
    stub.on("GET", "/a", Reply(headers={"bad name": "x"}))
    async with dialled(stub) as stream:
        assert await packets(stream) == []
    with pytest.raises(LocalProtocolError):
        await stub.__aexit__(None, None, None)


async def test_an_error_of_the_test_itself_is_not_covered_up() -> None:
    with pytest.raises(ZeroDivisionError):
        await ask("/b", Reply(), ZeroDivisionError)


async def test_a_route_without_a_reply_and_a_stub_that_does_not_serve_say_so() -> None:
    stub = HttpStub()
    with pytest.raises(ValueError, match="give at least one"):
        stub.on("GET", "/a")
    with pytest.raises(RuntimeError, match="async with"):
        _ = stub.url


async def test_leaving_the_stub_ends_connections_that_hang() -> None:
    async with HttpStub() as stub:
        stub.on("GET", "/a", Raw([b"x"], "hold"))
        async with dialled(stub) as stream:
            assert await stream.receive() == b"x"
            await stub.__aexit__(None, None, None)
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()
        await stub.__aenter__()

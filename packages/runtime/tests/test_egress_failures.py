"""How far a request came when it failed, and what becomes of its connection."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import anyio
import httpcore2
import pytest

from packages.runtime.tests.egress_scenes import ANN, ASKED, Audit, Policy, reaching
from psych_runtime.egress import connector
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Raw, Reply
from psych_runtime_core.errors import AccessDenied, RequestFailed, ResponseTooLarge
from psych_runtime_core.ports.egress import IPAddress

SOON = 0.05


@pytest.fixture
def stub(stub: HttpStub) -> HttpStub:
    for method in ("GET", "POST"):
        stub.on(method, "/", Reply(body=b"here"))
    return stub


@pytest.fixture
def closed() -> str:
    """A URL where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/"


async def failed(url: str, transport: HttpTransport | None = None, **options: Any) -> RequestFailed:
    transport = transport or HttpTransport()
    with pytest.raises(RequestFailed) as caught:
        await transport.request("POST", url, configured=(url,), **{"json": {"a": 1}, **options}, **ASKED)
    assert caught.value.origin in str(caught.value)
    assert caught.value.phase in str(caught.value)
    return caught.value


async def test_a_refused_connection_delivered_nothing(closed: str) -> None:
    error = await failed(closed)
    assert (error.phase, error.sent) == ("connect", False)
    assert "refused" in error.detail
    assert not error.timed_out
    assert " s;" in str(error)


async def never(*_: object) -> Any:
    await anyio.sleep_forever()


@pytest.mark.parametrize("what", ["resolve", "dial"])
async def test_a_connection_that_does_not_come_about_delivered_nothing(
    what: str, stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector, what, never)
    error = await failed(stub.url, timeouts=HttpTimeouts(connect=SOON))
    assert (error.phase, error.sent) == ("connect", False)
    assert "within 0.05 s" in error.detail


async def test_a_handshake_with_a_server_that_speaks_no_tls_delivered_nothing(stub: HttpStub) -> None:
    stub.on("GET", "/", Reply())
    secure = stub.url.replace("http:", "https:")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        secure = f"https://127.0.0.1:{listening.getsockname()[1]}/"
        error = await failed(secure, timeouts=HttpTimeouts(connect=SOON))
    assert (error.phase, error.sent) == ("connect", False)


@pytest.mark.parametrize("after", [0, 10, 38])
async def test_a_reset_may_have_delivered_it(after: int, stub: HttpStub) -> None:
    stub.reset(after)
    error = await failed(stub.url)
    assert (error.phase, error.sent) == ("read", True)


@pytest.mark.parametrize("after", [0, 10])
async def test_an_end_without_a_reply_may_have_delivered_it(after: int, stub: HttpStub) -> None:
    stub.cut_after(after)
    error = await failed(stub.url)
    assert (error.phase, error.sent) == ("read", True)


@pytest.mark.parametrize("after", [0, 10, 38])
async def test_silence_is_cut_and_may_have_delivered_it(after: int, stub: HttpStub) -> None:
    stub.hang(after)
    error = await failed(stub.url, timeouts=HttpTimeouts(read=SOON))
    assert (error.phase, error.sent) == ("read", True)
    assert "nothing came for 0.05 s" in error.detail
    assert error.timed_out
    assert isinstance(error.__cause__, httpcore2.ReadTimeout)


async def test_what_is_no_http_may_have_delivered_it(stub: HttpStub) -> None:
    stub.on("POST", "/", Raw((b"220 mail.example.com ESMTP\r\n",)))
    error = await failed(stub.url)
    assert (error.phase, error.sent) == ("read", True)


async def test_a_server_that_reads_nothing_stops_the_writing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        error = await failed(
            url, json=None, content=bytes(32 * 1024 * 1024), timeouts=HttpTimeouts(write=SOON, read=SOON)
        )
    assert (error.phase, error.sent) == ("write", True)
    assert "0.05 s" in error.detail


async def test_the_whole_is_bounded_though_every_step_is_in_time(stub: HttpStub) -> None:
    stub.hang(10)
    error = await failed(stub.url, timeouts=HttpTimeouts(total=SOON))
    assert (error.phase, error.sent) == ("total", True)
    assert "within 0.05 s" in error.detail


async def test_the_whole_is_bounded_before_anything_is_sent(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector, "resolve", never)
    error = await failed(stub.url, timeouts=HttpTimeouts(total=SOON))
    assert (error.phase, error.sent) == ("total", False)


async def test_a_slow_reader_is_no_silence(stub: HttpStub) -> None:
    more = anyio.Event()
    stub.on("GET", "/", Reply(chunks=(b"one", more, b"two")))
    async with (
        HttpTransport().stream(
            "GET", stub.url, configured=(stub.url,), timeouts=HttpTimeouts(read=SOON), **ASKED
        ) as response,
        aclosing(response.aiter_bytes()) as pieces,
    ):
        assert await anext(pieces) == b"one"
        more.set()
        await anyio.sleep(2 * SOON)
        assert await anext(pieces) == b"two"


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        ({"Content-Length": "2"}, True),
        ({"Content-Length": "9"}, True),
        ({"Content-Length": "four"}, True),
        ({"Content-Length": "4, 4"}, True),
        ({"Content-Length": "4", "Transfer-Encoding": "chunked"}, True),
        ({"Transfer-Encoding": "gzip"}, True),
        ({"Content-Length": "2"}, False),
        ({"Content-Length": "9"}, False),
        ({"Content-Length": "four"}, False),
    ],
    ids=str,
)
async def test_a_length_that_is_not_the_bodys_is_a_fault_of_the_caller(
    headers: dict[str, str], known: bool, stub: HttpStub
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"fo"
        yield b"ur"

    audit = Audit()
    transport = HttpTransport(audit=audit, connections=1)
    given: dict[str, Any] = {"content": b"four" if known else pieces(), "headers": headers, **ASKED}
    with pytest.raises(ValueError, match="Content-Length"):
        await transport.request("POST", stub.url, configured=(stub.url,), **given)
    assert [(event.outcome, event.reason) for event in audit.events] == [("failed", "ValueError")]
    assert not stub.requests
    assert (await transport.request("GET", stub.url, configured=(stub.url,), **ASKED)).content == b"here"


async def test_a_refusal_and_a_cap_are_no_failures_of_the_wire(stub: HttpStub) -> None:
    with pytest.raises(AccessDenied):
        await HttpTransport(policy=Policy(addresses=False)).request("GET", stub.url, **ASKED)
    with pytest.raises(ResponseTooLarge):
        await HttpTransport().request("GET", stub.url, configured=(stub.url,), max_response_bytes=1, **ASKED)


async def test_an_error_of_the_body_that_is_sent_is_its_own(stub: HttpStub) -> None:
    class Ours(Exception):
        pass

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        raise Ours

    transport = HttpTransport(connections=1)
    with pytest.raises(Ours):
        await transport.request("POST", stub.url, configured=(stub.url,), content=pieces(), **ASKED)
    assert (await transport.request("GET", stub.url, configured=(stub.url,), **ASKED)).content == b"here"


HELD = Raw((b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n",), close="hold")


@pytest.mark.parametrize("came", ["nothing", "the head"])
async def test_cancelling_closes_the_connection_at_once(came: str, stub: HttpStub) -> None:
    stub.on("GET", "/", HELD if came == "the head" else Raw((), close="hold"))
    transport = HttpTransport(connections=1)
    async with anyio.create_task_group() as group:

        async def ask() -> None:
            await transport.request("GET", stub.url, configured=(stub.url,), **ASKED)

        group.start_soon(ask)
        await stub.wait_for(1)
        group.cancel_scope.cancel()
    with anyio.fail_after(1):
        await stub.requests[0].closed_early()
    stub.on("GET", "/", Reply(body=b"here"))
    assert (await transport.request("GET", stub.url, configured=(stub.url,), **ASKED)).content == b"here"


@pytest.mark.parametrize("how", ["leave", "close", "raise", "iterator"])
async def test_leaving_a_stream_closes_the_connection_at_once(how: str, stub: HttpStub) -> None:
    stub.on("GET", "/", HELD)
    transport = HttpTransport(connections=1)
    try:
        async with transport.stream("GET", stub.url, configured=(stub.url,), **ASKED) as response:
            pieces = response.aiter_bytes()
            assert await anext(pieces) == b"first"
            if how == "raise":
                raise LookupError
            if how == "close":
                await response.aclose()
            if how == "iterator":
                await pieces.aclose()
            if how != "leave":
                with anyio.fail_after(1):
                    await stub.requests[0].closed_early()
    except LookupError:
        assert how == "raise"
    with anyio.fail_after(1):
        await stub.requests[0].closed_early()
    stub.on("GET", "/", Reply(body=b"here"))
    assert (await transport.request("GET", stub.url, configured=(stub.url,), **ASKED)).content == b"here"


async def test_another_task_may_close_what_one_waits_for(stub: HttpStub) -> None:
    stub.on("GET", "/", HELD)
    async with HttpTransport().stream("GET", stub.url, configured=(stub.url,), **ASKED) as response:
        pieces = response.aiter_bytes()
        assert await anext(pieces) == b"first"
        with pytest.RaisesGroup(pytest.RaisesExc(RequestFailed)):
            async with anyio.create_task_group() as group:
                group.start_soon(anext, pieces)
                await anyio.wait_all_tasks_blocked()
                await response.aclose()


async def test_cancelling_a_look_up_leaves_nothing_behind(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub, {"slow.example.com": ["8.8.8.8"]})
    entered = anyio.Event()

    async def slow(host: str, port: int) -> Sequence[str | IPAddress]:
        if not entered.is_set():
            entered.set()
            await anyio.sleep_forever()
        return await reach.resolve(host, port)

    transport = HttpTransport(policy=AllowAllEgress(), resolver=slow, connections=1)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: transport.request("GET", "http://slow.example.com/", **ASKED))
        await entered.wait()
        group.cancel_scope.cancel()
    assert (await transport.request("GET", "http://slow.example.com/", **ASKED)).content == b"here"


async def test_through_a_client_the_errors_are_the_same(stub: HttpStub, closed: str) -> None:
    async with HttpTransport().client(ANN, purpose="mcp", configured=(stub.url, closed)) as client:
        with pytest.raises(RequestFailed, match="nothing was sent"):
            await client.get(closed)
        stub.cut_after(38)
        with pytest.raises(RequestFailed, match="may have been delivered"):
            await client.get(stub.url)


@pytest.mark.parametrize("field", ["connect", "read", "write", "pool", "total"])
@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_time_that_is_none_is_refused_with_what_to_give(field: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=f"{field}=.*None for no limit"):
        HttpTimeouts(**{field: seconds})

"""What is told of each hop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from packages.runtime.tests.egress_scenes import ASKED, Audit, bound
from psych_runtime.egress.hop import run_in_audit
from psych_runtime.egress.policy import AllowAllEgress, DenyAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Raw, Reply
from psych_runtime_core.errors import AccessDenied, PsychError
from psych_runtime_core.ports.egress import EgressEvent


@pytest.fixture
def stub(stub: HttpStub) -> HttpStub:
    stub.on("POST", "/in", Reply(status=302, headers={"location": "/out?token=t0ken"}))
    stub.on("GET", "/out", Reply(body=b"x" * 7))
    return stub


async def test_each_hop_is_told_once_and_nothing_of_what_it_carried(stub: HttpStub) -> None:
    audit = Audit()
    transport = HttpTransport(policy=AllowAllEgress(), audit=audit)
    with run_in_audit("run-1"):
        await transport.request(
            "POST",
            f"{stub.url}/in?key=k3y",
            redirects=1,
            content=b"b0dy!",
            credential=bound(stub.url),
            headers={"X-Header": "h3ader"},
            **ASKED,
        )
    first, last = audit.events
    assert (first.path, first.hop, first.status, first.bytes_out) == ("/in", 0, 302, 5)
    assert (last.path, last.hop, last.status, last.bytes_in, last.decoded_bytes_in) == ("/out", 1, 200, 7, 7)
    for event in audit.events:
        assert (event.tenant, event.principal, event.run_id) == ("acme", "ann", "run-1")
        assert (event.purpose, event.origin, event.address) == ("tool", stub.url, "127.0.0.1")
        assert (event.outcome, event.reason) == ("allowed", "")
        assert event.seconds > 0
    told = repr(audit.events)
    assert not [word for word in ("k3y", "t0ken", "b0dy", "h3ader", "s3cret") if word in told]


async def test_a_run_is_known_only_where_it_was_said(stub: HttpStub) -> None:
    audit = Audit()
    transport = HttpTransport(policy=AllowAllEgress(), audit=audit)
    await transport.request("GET", f"{stub.url}/out", **ASKED)
    assert audit.events[0].run_id is None


@pytest.mark.parametrize(
    ("url", "origin", "reason"),
    [
        ("http://ann:pw@example.com/x", "http://example.com:80", "user and password"),
        ("ftp://example.com/x", "URL", "scheme"),
        ("http://[::1", "URL", "malformed"),
        ("http:\ud800:80/x", "URL", "malformed"),
        ("http://\ud800/", "URL", "malformed"),
        ("https://example.com/x", "https://example.com:443", "DenyAllEgress"),
    ],
)
# A client reads its URLs by itself, so none that is malformed comes here by it.
@pytest.mark.parametrize("way", ["request", "authorize"])
async def test_a_refusal_is_told_too(way: str, url: str, origin: str, reason: str) -> None:
    audit = Audit()
    transport = HttpTransport(policy=DenyAllEgress(), audit=audit)
    with pytest.raises(AccessDenied):
        await getattr(transport, way)("GET", url, **ASKED)
    (event,) = audit.events
    assert (event.outcome, event.origin, event.address, event.status) == ("refused", origin, None, None)
    assert reason in event.reason
    assert "pw" not in repr(event)


async def test_a_failure_is_told_once_with_how_far_it_came(stub: HttpStub) -> None:
    audit = Audit()
    stub.on("GET", "/cut", Raw((b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",)))
    transport = HttpTransport(policy=AllowAllEgress(), audit=audit)
    with pytest.raises(PsychError):
        await transport.request("GET", f"{stub.url}/cut", **ASKED)
    (event,) = audit.events
    assert (event.outcome, event.status, event.bytes_in) == ("failed", 200, 4)
    assert event.reason.startswith("read: ")


async def test_a_stream_is_told_when_it_is_left(stub: HttpStub) -> None:
    audit = Audit()
    transport = HttpTransport(policy=AllowAllEgress(), audit=audit)
    async with transport.stream("GET", f"{stub.url}/out", **ASKED):
        assert not audit.events
    assert audit.outcomes == [("/out", 0, "allowed")]


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError, SystemExit, GeneratorExit])
async def test_an_audit_that_raises_changes_nothing_and_is_logged_once(
    error: type[BaseException], stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[EgressEvent] = []

    def raising(event: EgressEvent) -> None:
        told.append(event)
        raise error("the disk is full")

    transport = HttpTransport(audit=raising)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            response = await transport.request("GET", f"{stub.url}/out", configured=(stub.url,), **ASKED)
            assert response.content == b"x" * 7
        with pytest.raises(AccessDenied):
            await transport.request("GET", f"{stub.url}/out", **ASKED)
        with pytest.raises(AccessDenied):
            await transport.authorize("GET", "http://[::1", **ASKED)
    assert len(told) == 5
    assert [record.name for record in caplog.records] == ["psych_runtime.egress"]
    assert "the disk is full" in caplog.text


async def told_later(event: EgressEvent) -> None:
    raise AssertionError(event)


async def tells_in_pieces(event: EgressEvent) -> AsyncIterator[EgressEvent]:
    yield event


class Later:
    async def __call__(self, event: EgressEvent) -> None:
        raise AssertionError(event)


@pytest.mark.parametrize("name", ["audit", "headers"])
@pytest.mark.parametrize(
    ("function", "fix"),
    [
        pytest.param(told_later, "write def in place of async def", id="async"),
        pytest.param(partial(told_later), "write def in place of async def", id="a partial of async"),
        pytest.param(tells_in_pieces, "write def in place of async def", id="an async generator"),
        pytest.param(Later(), "write def in place of async def", id="an object that is called async"),
        pytest.param(Later, "the class Later; give a plain function", id="a class"),
        pytest.param("print", "a str; give a plain function", id="a text"),
    ],
)
def test_what_nobody_would_await_is_not_taken(name: str, function: Any, fix: str) -> None:
    given: dict[str, Any] = {name: function}
    with pytest.raises(TypeError, match=f"{name}= is .*{fix}"):
        HttpTransport(**given)


async def test_an_audit_that_hides_that_it_is_async_is_logged_once(
    stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    def hides(event: EgressEvent) -> Any:
        return told_later(event)

    transport = HttpTransport(policy=AllowAllEgress(), audit=hides)
    for _ in range(2):
        await transport.request("GET", f"{stub.url}/out", **ASKED)
    assert len(caplog.records) == 1
    assert "a plain function of an EgressEvent" in caplog.text


async def test_words_of_a_strangers_error_are_not_told(stub: HttpStub) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        raise LookupError("s3cret")

    audit = Audit()
    given: dict[str, Any] = {"content": pieces(), **ASKED}
    with pytest.raises(LookupError):
        await HttpTransport(policy=AllowAllEgress(), audit=audit).request("POST", f"{stub.url}/in", **given)
    assert [(event.outcome, event.reason) for event in audit.events] == [("failed", "LookupError")]

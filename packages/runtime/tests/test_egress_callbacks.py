"""What the consumer's own functions raise or give: a failure of ours, told of, and never anything else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import anyio
import pytest

from packages.runtime.tests.egress_scenes import ASKED, Audit
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime_core.errors import RequestFailed

KEY = "sk-4f7a9c1e"
NAMED = "http://api.example.com/"


@pytest.fixture
def stub(stub: HttpStub) -> HttpStub:
    stub.on("GET", "/", Reply(body=b"here"))
    return stub


ERRORS: list[BaseException] = [
    RuntimeError(KEY),
    LookupError(KEY),
    ValueError(KEY),
    StopAsyncIteration(KEY),
    StopIteration(KEY),
    ExceptionGroup(KEY, [OSError(KEY)]),
    asyncio.CancelledError(KEY),
    SystemExit(KEY),
    GeneratorExit(KEY),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_resolver_that_raises_is_a_failure_before_anything_was_sent(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        raise error

    failed = await unresolved(resolver)
    assert "the resolver failed" in failed.detail
    assert [record.name for record in caplog.records] == ["psych_runtime.egress"]


@pytest.mark.parametrize("error", [OSError(KEY), TimeoutError(KEY), OSError(5, KEY)], ids=repr)
async def test_a_resolver_that_finds_nothing_says_so_by_an_oserror(
    error: OSError, caplog: pytest.LogCaptureFixture
) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        raise error

    failed = await unresolved(resolver)
    assert "its name cannot be looked up" in failed.detail
    assert not caplog.records


GIVEN: dict[str, Any] = {
    "none": None,
    "a number": 7,
    "an address": "127.0.0.1",
    "words": ["nonsense"],
    "numbers": [2130706433],
    "bytes": [b"\x7f\0\0\1"],
    "all of them": b"\x7f\0\0\1",
    "nones": [None],
    "one good one bad": ["127.0.0.1", 7],
    "a set": {"127.0.0.1"},
    "nothing": [],
}


@pytest.mark.parametrize("what", GIVEN)
async def test_what_is_no_list_of_addresses_is_a_failure(what: str) -> None:
    async def resolver(host: str, port: int) -> Any:
        return GIVEN[what]

    failed = await unresolved(resolver)
    assert ("no address" if what == "nothing" else "the resolver failed") in failed.detail


async def unresolved(resolver: Any) -> RequestFailed:
    """How a request fails whose name `resolver` looks up."""
    audit = Audit()
    with pytest.raises(RequestFailed) as failed:
        await HttpTransport(policy=AllowAllEgress(), resolver=resolver, audit=audit).request(
            "GET", NAMED, **ASKED
        )
    assert (failed.value.phase, failed.value.sent, failed.value.timed_out) == ("connect", False, False)
    assert [event.outcome for event in audit.events] == ["failed"]
    assert KEY not in str(failed.value) + repr(audit.events)
    assert failed.value.__cause__ is None
    return failed.value


@pytest.mark.parametrize("given", [["127.0.0.1"], ("127.0.0.1",), [ip_address("127.0.0.1")]], ids=repr)
async def test_what_is_a_list_of_addresses_is_connected_to(given: Any, stub: HttpStub) -> None:
    async def resolver(host: str, port: int) -> Any:
        return given

    transport = HttpTransport(policy=AllowAllEgress(), resolver=resolver)
    url = stub.url.replace("127.0.0.1", "api.example.com")
    assert (await transport.request("GET", url, **ASKED)).content == b"here"


async def test_a_cancellation_while_a_name_is_looked_up_is_one() -> None:
    entered = anyio.Event()

    async def resolver(host: str, port: int) -> list[str]:
        entered.set()
        await anyio.sleep_forever()
        return []

    transport = HttpTransport(policy=AllowAllEgress(), resolver=resolver)
    asking = asyncio.ensure_future(transport.request("GET", NAMED, **ASKED))
    await entered.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_headers_of_the_transport_that_raise_are_a_failure_before_anything_was_sent(
    error: BaseException, stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    def headers(scope: object, purpose: object) -> dict[str, str]:
        raise error

    failed = await unlaid(headers, stub)
    assert (failed.phase, failed.sent) == ("connect", False)
    assert KEY not in str(failed)
    assert [record.name for record in caplog.records if record.levelno >= logging.ERROR] == [
        "psych_runtime.egress"
    ]


@pytest.mark.parametrize("given", [None, 7, ["a"], "ab", object()], ids=lambda given: type(given).__name__)
async def test_what_are_no_headers_of_the_transport_is_a_failure(given: Any, stub: HttpStub) -> None:
    assert isinstance(await unlaid(lambda scope, purpose: given, stub), RequestFailed)


@pytest.mark.parametrize(
    "given",
    [{"X-A": 5}, {"X-A": b"x"}, {"X-A": None}, {5: "x"}, {"X A": "x"}, {"X-A": f"{KEY}\r\n"}],
    ids=repr,
)
async def test_a_header_of_the_transport_that_cannot_be_sent_is_told_of_too(
    given: Any, stub: HttpStub
) -> None:
    failed = await unlaid(lambda scope, purpose: given, stub)
    assert isinstance(failed, ValueError)
    assert KEY not in str(failed)


async def unlaid(headers: Callable[[object, object], Any], stub: HttpStub) -> Any:
    """How a request fails under whose headers `headers` is to be laid."""
    audit = Audit()
    with pytest.raises((RequestFailed, ValueError)) as failed:
        await HttpTransport(headers=headers, audit=audit).request(
            "GET", stub.url, configured=(stub.url,), **ASKED
        )
    assert [event.outcome for event in audit.events] == ["failed"]
    assert stub.connections == 0
    return failed.value


@pytest.mark.parametrize("given", [{"X-A": 5}, {"X-A": b"x"}, {"X-A": None}, {5: "x"}], ids=repr)
async def test_a_header_of_a_caller_is_of_words(given: Any) -> None:
    with pytest.raises(ValueError, match="header"):
        await HttpTransport().request("GET", NAMED, headers=given, **ASKED)

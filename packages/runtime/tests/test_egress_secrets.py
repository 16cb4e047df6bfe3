"""No error, record of an audit or line of a log repeats a secret, whoever says it first."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest
from pydantic import SecretStr

from packages.runtime.tests.egress_scenes import ASKED, Audit, bound
from packages.runtime.tests.egress_tls import proxy
from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.hop import hop_of_this_task
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.proxy import ProxyConfig
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Raw
from psych_runtime_core.errors import CredentialNotFound, RequestFailed
from psych_runtime_core.ports.secrets import ResolvedCredential

KEY = "sk-4f7a9c1e"
ECHOES = {
    "a status line": b"%b\r\n\r\n",
    "a reason": b"HTTP/1.1 999x %b\r\n\r\n",
    "the name of a header": b"HTTP/1.1 200 OK\r\n%b here\r\n\r\n",
    "a header": b"HTTP/1.1 200 OK\r\nx: \0%b\r\n\r\n",
    "a length": b"HTTP/1.1 200 OK\r\ncontent-length: %b\r\n\r\n",
    "a transfer coding": b"HTTP/1.1 200 OK\r\ntransfer-encoding: %b\r\n\r\n",
    "a content coding": b"HTTP/1.1 200 OK\r\ncontent-encoding: %b\r\n\r\n",
    "two content codings": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip, %b\r\n\r\n",
    "the size of a chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%b\r\n",
    "the end of a chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx%b",
    "a trailer": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n%b here\r\n\r\n",
    "a packed body": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n%b",
}


def shown(error: BaseException) -> str:
    """All that a log, a record or a debugger shows of it."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))


@pytest.mark.parametrize("where", ECHOES)
async def test_what_a_server_echoes_is_told_nobody(
    where: str, stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    stub.on("GET", "/", Raw((ECHOES[where] % KEY.encode(),)))
    audit = Audit()
    given: dict[str, Any] = {"configured": (stub.url,), "credential": bound(stub.url, KEY), **ASKED}
    with caplog.at_level(logging.DEBUG), pytest.raises(RequestFailed) as failed:
        await HttpTransport(audit=audit).request("GET", stub.url, **given)
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in shown(failed.value)
    assert KEY not in repr(audit.events)
    assert KEY not in caplog.text
    assert (audit.events[0].outcome, failed.value.sent) == ("failed", True)


async def test_what_a_proxy_says_is_told_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with proxy(0, refuses=f"407 {KEY}") as proxied:
        config = ProxyConfig(url=f"http://127.0.0.1:{proxied.port}", enforces_policy=True)
        with caplog.at_level(logging.DEBUG), pytest.raises(RequestFailed, match="answered 407") as failed:
            await HttpTransport(policy=AllowAllEgress(), proxy=config).request(
                "GET", "https://api.example.com/", **ASKED
            )
    assert KEY not in shown(failed.value) + caplog.text


async def test_a_reply_in_good_http_is_not_logged_either(
    stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"HTTP/1.1 200 %b\r\nx-echo: %b\r\ncontent-length: 4\r\n\r\nhere"
    stub.on("GET", "/", Raw((head % (KEY.encode(), KEY.encode()),)))
    with caplog.at_level(logging.DEBUG):
        await HttpTransport().request("GET", stub.url, configured=(stub.url,), **ASKED)
    assert "receive_response_headers.complete" in caplog.messages
    assert KEY not in caplog.text


async def test_requests_of_others_are_logged_as_they_were(
    stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    stub.on("GET", "/", Raw((b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",)))
    await HttpTransport().request("GET", stub.url, configured=(stub.url,), **ASKED)
    assert hop_of_this_task.get(None) is None
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("httpcore2.http11").debug("a step of %s", "theirs")
    assert caplog.messages == ["a step of theirs"]


@pytest.mark.parametrize(
    "unfit", [f"{KEY}\x01", f"{KEY}\x7f", f"a\x0b{KEY}", f"{KEY}ä", f"a\n{KEY}", "", " \n"], ids=ascii
)
@pytest.mark.parametrize("scheme", ["Bearer", ""])
async def test_a_secret_that_no_header_carries_is_refused_by_name(
    scheme: str, unfit: str, stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    audit = Audit()
    credential = bound(stub.url, unfit, header="X-Key", scheme=scheme)
    given: dict[str, Any] = {"configured": (stub.url,), "credential": credential, **ASKED}
    with caplog.at_level(logging.DEBUG), pytest.raises(ValueError, match="X-Key") as refused:
        await HttpTransport(audit=audit).request("GET", stub.url, **given)
    assert stub.url in str(refused.value)
    assert KEY not in shown(refused.value) + repr(audit.events) + caplog.text
    assert [(event.outcome, event.reason) for event in audit.events] == [("failed", "ValueError")]
    assert stub.connections == 0


@pytest.mark.parametrize("given", [f"{KEY}\n", f"{KEY}\r\n", f" {KEY}\t"])
async def test_blanks_around_a_secret_are_no_part_of_it(given: str, stub: HttpStub) -> None:
    stub.on("GET", "/", Raw((b"HTTP/1.1 204 No Content\r\n\r\n",)))
    credential = bound(stub.url, given)
    await HttpTransport().request("GET", stub.url, configured=(stub.url,), credential=credential, **ASKED)
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("unfit", [f"{KEY}\x01", f"a\x0b{KEY}", f"a\x1f{KEY}", f"a\x7f{KEY}"], ids=ascii)
@pytest.mark.parametrize("way", ["request", "client"])
async def test_a_header_of_a_caller_that_cannot_be_sent_is_not_shown(
    way: str, unfit: str, stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    transport = HttpTransport()
    given: dict[str, Any] = {"configured": (stub.url,), **ASKED}
    headers = {"X-Key": unfit}
    if way == "request":
        asking = transport.request("GET", stub.url, headers=headers, **given)
    else:
        asking = transport.client(**given).get(stub.url, headers=headers)
    with caplog.at_level(logging.DEBUG), pytest.raises(ValueError, match="X-Key") as refused:
        await asking
    assert KEY not in shown(refused.value) + caplog.text
    assert stub.connections == 0


NO_CREDENTIALS: list[Any] = [
    KEY,
    None,
    object(),
    ResolvedCredential("one", KEY),  # type: ignore[arg-type]  # wrong on purpose, as all of these
    ResolvedCredential(["one"], SecretStr(KEY)),  # type: ignore[arg-type]  # as above
    ResolvedCredential("one", SecretStr(7)),  # type: ignore[arg-type]  # as above
]


@pytest.mark.parametrize("given", NO_CREDENTIALS, ids=["str", "none", "object", "bare", "identity", "number"])
@pytest.mark.parametrize("whose", ["the origin", "the proxy"])
async def test_what_is_no_credential_is_refused_and_not_shown(whose: str, given: Any) -> None:
    async def resolve() -> Any:
        return given

    audit = Audit()
    url = "http://api.example.com/"
    config = ProxyConfig(url="http://127.0.0.1:9", credential=resolve)
    transport = HttpTransport(
        policy=AllowAllEgress(), audit=audit, proxy=config if whose == "the proxy" else None
    )
    credential = CredentialBinding(url, resolve) if whose == "the origin" else None
    with pytest.raises(ValueError, match=r"the credential of http://.* is none") as refused:
        await transport.request("GET", url, credential=credential, configured=(url,), **ASKED)
    assert KEY not in shown(refused.value)
    assert [event.outcome for event in audit.events] == ["failed"]


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()], ids=repr)
async def test_a_look_up_that_cancels_itself_or_ends_the_process_is_a_failure(
    error: BaseException, stub: HttpStub
) -> None:
    async def resolve() -> ResolvedCredential:
        raise error

    credential = CredentialBinding(stub.url, resolve)
    with pytest.raises(RequestFailed, match="looked up") as failed:
        await HttpTransport().request("GET", stub.url, configured=(stub.url,), credential=credential, **ASKED)
    assert (failed.value.phase, failed.value.sent) == ("connect", False)
    assert stub.connections == 0


@pytest.mark.parametrize("error", [CredentialNotFound(ASKED["scope"], "key"), LookupError("vault")], ids=repr)
async def test_an_error_of_a_look_up_is_its_own(error: Exception, stub: HttpStub) -> None:
    async def resolve() -> ResolvedCredential:
        raise error

    credential = CredentialBinding(stub.url, resolve)
    with pytest.raises(type(error)) as raised:
        await HttpTransport().request("GET", stub.url, configured=(stub.url,), credential=credential, **ASKED)
    assert raised.value is error
    assert error.__context__ is None

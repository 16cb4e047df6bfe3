"""What an HTTP tool sends and how often, against a server that records it."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from packages.runtime.tests.http_scenes import ANN, START, Calls, context_in, http_tool, runtime_of
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.secrets.in_memory import InMemorySecretResolver
from psych_runtime.secrets.masks import NO_MASKS
from psych_runtime.testing.http_stub import HttpStub, Raw, Reply
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.convert import Converted
from psych_runtime.tools.failures import CallFailed, EndUnseen, told_failure_of
from psych_runtime.tools.http.endpoint import HttpEndpoint
from psych_runtime.tools.output import File
from psych_runtime.tools.problem import Problem
from psych_runtime_core.clock import SystemClock
from psych_runtime_core.errors import CredentialNotFound
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.scope import Scope

JSON = {"content-type": "application/json"}


def failure(error: BaseException) -> ToolFailure:
    assert isinstance(error, CallFailed), error
    return error.failure


# --- what is sent ----------------------------------------------------------------------------------------


async def test_a_request_is_sent_as_it_was_placed(stub: HttpStub) -> None:
    stub.on("POST", "/a/b%20c", Reply(json={"ok": True}))
    tool = http_tool(
        stub, "/a/{x}?k={y}", "POST", query=["q"], headers={"X-Trace": "{z}", "Accept": "application/json"}
    )
    assert await Calls(tool).result(x="b c", y=[1, 2], q="é", z="t", body={"n": 1}) == {"ok": True}
    (seen,) = stub.requests
    assert seen.params == [("k", "1"), ("k", "2"), ("q", "é")]
    assert seen.json == {"body": {"n": 1}}
    headers = {name: seen.headers[name] for name in ("x-trace", "accept", "content-type", "content-length")}
    assert headers == {
        "x-trace": "t",
        "accept": "application/json",
        "content-type": "application/json",
        "content-length": "16",
    }
    assert "authorization" not in seen.headers


async def test_key_and_credential_stand_in_their_headers_once(stub: HttpStub) -> None:
    stub.on("POST", "/a", Reply(json=1))
    resolver = InMemorySecretResolver({("acme", "crm"): "s3cret-value"})
    tool = http_tool(
        stub,
        method="POST",
        headers={"X-A": "b"},
        credential="crm",
        credential_header="X-Auth",
        credential_scheme="Key",
        idempotency_header="Idempotency-Key",
    )
    await Calls(tool, context_in(runtime_of(secrets=resolver))).result()
    (seen,) = stub.requests
    # The stub joins what stands twice with a comma.
    assert seen.headers["idempotency-key"] == "idem_1"
    assert seen.headers["x-auth"] == "Key s3cret-value"
    assert "authorization" not in seen.headers


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        pytest.param({}, "Bearer s3cret-value", id="by itself"),
        pytest.param({"credential_scheme": ""}, "s3cret-value", id="bare"),
        pytest.param({"credential_scheme": "Token token="}, "Token token= s3cret-value", id="any word"),
    ],
)
async def test_a_credential_goes_behind_its_word(stub: HttpStub, fields: dict[str, str], sent: str) -> None:
    stub.on("GET", "/a", Reply(json=1))
    runtime = runtime_of(secrets=InMemorySecretResolver({("acme", "ann", "crm"): "s3cret-value"}))
    await Calls(http_tool(stub, credential="crm", **fields), context_in(runtime)).result()
    assert stub.requests[0].headers["authorization"] == sent


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        pytest.param(
            Reply(body=gzip.compress(b'{"a":1}'), headers={**JSON, "content-encoding": "gzip"}),
            {"a": 1},
            id="packed",
        ),
        pytest.param(
            Reply(body=b"\xe9", headers={"content-type": "text/plain; charset=latin-1"}), "é", id="a charset"
        ),
        pytest.param(
            Reply(body=b"[1]", headers={"content-type": "application/hal+json"}), [1], id="a kind of JSON"
        ),
        pytest.param(
            Reply(body=b"\x89PNG", headers={"content-type": "image/png"}),
            File("t.png", "image/png", b"\x89PNG"),
            id="bytes",
        ),
        pytest.param(
            Reply(body=b"<p>", headers=JSON),
            {
                "note": "The reply says that it is JSON, and cannot be read as such:"
                " Expecting value: line 1 column 1 (char 0).",
                "text": "<p>",
            },
            id="a wrong type",
        ),
        pytest.param(Reply(status=204), None, id="nothing"),
        pytest.param(Reply(chunks=(b"[1,", b"2]"), headers=JSON), [1, 2], id="in pieces"),
    ],
)
async def test_a_reply_is_the_result(stub: HttpStub, reply: Reply, value: object) -> None:
    stub.on("GET", "/a", reply)
    assert await Calls(http_tool(stub)).result() == value


async def test_a_redirect_is_not_followed(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(status=302, headers={"location": "/b"}))
    calls = Calls(http_tool(stub))
    found = failure(await calls.error())
    assert (found.kind, found.code) == ("http_redirect", "302")
    assert f"leads to {stub.url}, and" in found.message
    stub.on("GET", "/a", Reply(status=307, headers={"location": "https://user@elsewhere.example:x/"}))
    assert "leads to an address that cannot be read, and" in failure(await calls.error()).message
    assert [seen.path for seen in stub.requests] == ["/a", "/a"]


async def test_a_reply_without_a_place_to_go_is_an_error_like_any(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(status=300))
    assert failure(await Calls(http_tool(stub)).error()).kind == "http_error"


async def test_twenty_megabytes_are_too_large(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(chunks=[b"x" * 1_000_000] * 20, headers=JSON))
    found = failure(await Calls(http_tool(stub)).error())
    assert (found.kind, found.transient) == ("result_too_large", False)
    assert f"{16 * 1024 * 1024} bytes" in found.message


async def test_what_may_not_be_reached_is_not(stub: HttpStub) -> None:
    calls = Calls(http_tool(stub), context_in(runtime_of(HttpTransport())))
    found = failure(await calls.error())
    assert (found.kind, found.transient) == ("access_denied", False)
    assert stub.connections == 0


# --- tries -----------------------------------------------------------------------------------------------

SAFE: dict[str, Any] = {"safe_to_retry": True}
UNSAFE: dict[str, Any] = {"safe_to_retry": False}


async def test_a_safe_call_is_tried_three_times_under_one_key(stub: HttpStub) -> None:
    stub.on("POST", "/a", Reply(status=503), Reply(status=500), Reply(json=1, headers=JSON))
    calls = Calls(http_tool(stub, method="POST", idempotency_header="X-Key", **SAFE))
    assert await calls.result(n=1) == 1
    assert [(seen.headers["x-key"], seen.body) for seen in stub.requests] == [("idem_1", b'{"n":1}')] * 3
    assert [0.25 <= calls.clock.slept[0] < 0.5, 0.5 <= calls.clock.slept[1] < 1] == [True, True]


async def test_after_three_tries_the_last_answer_is_told(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(status=503), Reply(status=503), Reply(status=429, json={"slow": "down"}))
    calls = Calls(http_tool(stub))
    found = failure(await calls.error())
    assert (found.kind, found.code, found.transient) == ("http_error", "429", True)
    assert '{"slow": "down"}' in found.message
    assert len(stub.requests) == 3


async def test_what_the_server_asks_to_wait_is_waited(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(status=429, headers={"Retry-After": "20"}), Reply(json=1, headers=JSON))
    calls = Calls(http_tool(stub))
    assert await calls.result() == 1
    (slept,) = calls.clock.slept
    assert 20 <= slept <= 22


async def test_another_is_sent_once_whatever_is_answered(stub: HttpStub) -> None:
    stub.on("POST", "/a", Reply(status=503))
    found = failure(await Calls(http_tool(stub, method="POST")).error())
    assert (found.code, found.transient) == ("503", True)
    assert len(stub.requests) == 1


async def test_nothing_is_sent_after_the_deadline(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(status=503))
    soon = context_in(runtime_of(), deadline=START + timedelta(seconds=1))
    calls = Calls(http_tool(stub), soon)
    assert failure(await calls.error()).code == "503"
    assert sum(calls.clock.slept) < 1
    assert len(stub.requests) == 1 + len(calls.clock.slept) <= 3
    late = Calls(http_tool(stub), context_in(runtime_of(), deadline=START))
    await late.error()
    assert late.clock.slept == []


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("fields", "tries"), [(SAFE, 3), (UNSAFE, 1)], ids=["safe", "unsafe"])
async def test_a_connection_that_is_reset_behind_the_request(
    stub: HttpStub, method: str, fields: dict[str, Any], tries: int
) -> None:
    stub.on(method, "/a", Reply(json=1))
    for _ in range(tries):
        stub.reset()
    error = await Calls(http_tool(stub, method=method, **fields)).error()
    assert len(stub.requests) == tries
    assert isinstance(error, EndUnseen) is (method == "POST")
    found = failure(error)
    assert (found.kind, found.transient) == ("http_error", True)
    assert "The request may have been delivered" in found.message
    assert "127.0.0.1" not in found.message
    assert stub.url in str(told_failure_of(error, NO_MASKS).traceback)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_was_never_sent_is_tried_again_by_any_method(method: str) -> None:
    async with HttpStub() as stub:
        tool = http_tool(stub, method=method, **UNSAFE)
    calls = Calls(tool)
    error = await calls.error()
    assert not isinstance(error, EndUnseen)
    found = failure(error)
    assert (found.kind, found.transient) == ("http_error", True)
    assert "The tool's server could not be reached: Connection refused after " in found.message
    assert "Nothing was sent" in found.message
    assert "127.0.0.1" not in found.message
    assert "http://127.0.0.1" in str(told_failure_of(error, NO_MASKS).traceback)
    assert len(calls.clock.slept) == 2


async def test_a_reply_that_is_cut_is_no_reply(stub: HttpStub) -> None:
    stub.on("POST", "/a", Raw([b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"]))
    assert isinstance(await Calls(http_tool(stub, method="POST")).error(), EndUnseen)


@pytest.mark.parametrize(("method", "unseen"), [("GET", False), ("POST", True)])
async def test_each_try_has_its_time(stub: HttpStub, method: str, unseen: bool) -> None:
    stub.on(method, "/a", Reply(json=1))
    for _ in range(3):
        stub.hang()
    error = await Calls(http_tool(stub, method=method, timeout_seconds=0.25, **SAFE)).error()
    assert isinstance(error, EndUnseen) is unseen
    assert failure(error).kind == "timeout"
    assert len(stub.requests) == 3


# --- credentials -----------------------------------------------------------------------------------------


class Rotating:
    """Another secret at each look-up."""

    def __init__(self) -> None:
        self.asked: list[tuple[Scope, str]] = []

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        self.asked.append((scope, name))
        return ResolvedCredential(str(len(self.asked)), SecretStr(f"s3cret-{len(self.asked)}"))


async def test_a_secret_is_looked_up_at_each_try(stub: HttpStub) -> None:
    stub.on("GET", "/a", Reply(status=503), Reply(json=1, headers=JSON))
    resolver = Rotating()
    await Calls(http_tool(stub, credential="crm"), context_in(runtime_of(secrets=resolver))).result()
    assert [seen.headers["authorization"] for seen in stub.requests] == ["Bearer s3cret-1", "Bearer s3cret-2"]
    assert resolver.asked == [(ANN, "crm")] * 2


@pytest.mark.parametrize(
    "resolver",
    [
        pytest.param(None, id="no resolver"),
        pytest.param(InMemorySecretResolver(), id="no such secret"),
        pytest.param(InMemorySecretResolver({("globex", "crm"): "s3cret-value"}), id="another tenant's"),
    ],
)
async def test_without_the_secret_nothing_is_sent(
    stub: HttpStub, resolver: InMemorySecretResolver | None
) -> None:
    calls = Calls(http_tool(stub, credential="crm"), context_in(runtime_of(secrets=resolver)))
    assert isinstance(await calls.error(), CredentialNotFound)
    assert stub.requests == ()


class Broken:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "transient"), [(OSError("https://vault.internal is sealed"), False), (TimeoutError(), True)]
)
async def test_a_resolver_that_fails_is_told_without_its_words(
    stub: HttpStub, error: Exception, transient: bool
) -> None:
    calls = Calls(http_tool(stub, credential="crm"), context_in(runtime_of(secrets=Broken(error))))
    raised = await calls.error()
    found = failure(raised)
    assert (found.kind, found.transient) == (type(error).__name__, transient)
    assert "vault" not in found.message
    assert raised.__cause__ is error
    assert stub.requests == ()


async def test_a_secret_that_no_header_carries_is_not_shown(stub: HttpStub) -> None:
    runtime = runtime_of(secrets=InMemorySecretResolver({("acme", "crm"): "s3cret\nvalue"}))
    error = await Calls(http_tool(stub, credential="crm"), context_in(runtime)).error()
    found = failure(error)
    assert (found.kind, found.transient) == ("credential_not_found", False)
    assert "'crm', which the tool needs, cannot be sent: it holds CR, LF" in found.message
    assert "Tell the user" in found.message
    told = told_failure_of(error, NO_MASKS)
    assert not [word for word in ("s3cret", "127.0.0.1", "https://") if word in told.message]
    assert "s3cret" not in str(told.traceback)
    assert stub.requests == ()


# --- any value at all ------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(x=st.text(), y=st.text() | st.lists(st.text()), z=st.text())
async def test_no_value_reaches_another_path_host_or_query(stub: HttpStub, x: str, y: Any, z: str) -> None:
    tool = http_tool(stub, "/orders/{x}/lines?k={y}", headers={"X-Z": "{z}"})
    context: ToolContext = context_in(runtime_of())
    endpoint = HttpEndpoint(tool, SystemClock())
    values = endpoint.validate({"x": x, "y": y, "z": z})
    if isinstance(values, Problem):
        return
    before = len(stub.requests)
    stub.on("GET", f"/orders/{quote(x, safe='')}/lines", Reply(json=1, headers=JSON))
    code: Any = endpoint.bind(values, context)
    assert await code() == Converted(1, b"1")
    (seen,) = stub.requests[before:]
    assert seen.path.count("/") == 3
    values_of_k: list[str] = [y] if isinstance(y, str) else y
    assert seen.params == [("k", each) for each in values_of_k]
    assert seen.headers["host"] == stub.url.removeprefix("http://")
    assert seen.headers["x-z"] == z.strip()

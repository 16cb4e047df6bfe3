"""What a request carries, and what it cannot be made to carry."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from packages.runtime.tests.egress_scenes import ANN, ASKED, Audit, bound, reaching, secret
from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime_core.errors import AccessDenied, CredentialNotFound
from psych_runtime_core.ports.egress import EgressPurpose
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.scope import Scope

BOB = Scope(tenant="acme", principal="bob")
OTHERS = Scope(tenant="globex", principal="ann")


@pytest.fixture
def stub(stub: HttpStub) -> HttpStub:
    for method in ("GET", "POST"):
        stub.on(method, "/", Reply(body=b"here", headers={"set-cookie": "session=theirs; Path=/"}))
    return stub


async def test_what_is_laid_under_the_headers_of_a_caller(stub: HttpStub) -> None:
    def under(scope: Scope, purpose: EgressPurpose) -> dict[str, str]:
        return {"X-Tenant": scope.tenant, "X-Purpose": purpose, "User-Agent": "ours", "X-Both": "under"}

    transport = HttpTransport(headers=under)
    await transport.request("GET", stub.url, configured=(stub.url,), headers={"x-both": "over"}, **ASKED)
    async with transport.client(ANN, purpose="mcp", configured=(stub.url,)) as client:
        await client.get(stub.url, headers={"User-Agent": "an SDK"})
    by_request, by_client = (seen.headers for seen in stub.requests)
    assert by_request["x-tenant"] == "acme"
    assert by_request["x-both"] == "over"
    assert (by_request["user-agent"], by_client["user-agent"]) == ("ours", "an SDK")
    assert (by_request["x-purpose"], by_client["x-purpose"]) == ("tool", "mcp")


@pytest.mark.parametrize("broken", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "ä"])
@pytest.mark.parametrize("where", ["caller", "under", "client", "secret"])
async def test_nothing_breaks_out_of_its_header(where: str, broken: str, stub: HttpStub) -> None:
    def under(scope: Scope, purpose: EgressPurpose) -> dict[str, str]:
        return {"X-A": broken} if where == "under" else {}

    transport = HttpTransport(headers=under)
    given: dict[str, Any] = {"configured": (stub.url,)}
    if where == "caller":
        given["headers"] = {"X-A": broken}
    if where == "secret":
        given["credential"] = bound(stub.url, broken)
    if where == "client":
        client = transport.client(ANN, purpose="tool", **given)
        ask = client.get(stub.url, headers={"X-A": broken})
    else:
        ask = transport.request("GET", stub.url, **given, **ASKED)
    with pytest.raises(ValueError, match=r"CR, LF|ascii") as refused:
        await ask
    if where != "client":
        assert broken not in str(refused.value)
    assert stub.connections == 0


@pytest.mark.parametrize("name", ["", "X A", "X:A", "X\r\nA", "Ä"])
async def test_what_is_no_name_of_a_header_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name of a header"):
        await HttpTransport().request("GET", "https://example.com", headers={name: "v"}, **ASKED)


@pytest.mark.parametrize("method", ["CONNECT", "GET /evil HTTP/1.1\r\nX:", "", "G T"])
async def test_what_is_no_method_is_refused(method: str, stub: HttpStub) -> None:
    with pytest.raises(ValueError, match="no method"):
        await HttpTransport().request(method, stub.url, configured=(stub.url,), **ASKED)
    assert stub.connections == 0


async def test_a_caller_cannot_ask_one_host_for_another(stub: HttpStub) -> None:
    transport = HttpTransport()
    await transport.request("GET", stub.url, configured=(stub.url,), headers={"Host": "other"}, **ASKED)
    async with transport.client(ANN, purpose="tool", configured=(stub.url,)) as client:
        await client.get(stub.url, extensions={"target": b"http://other/", "sni_hostname": "other"})
    assert {seen.headers["host"] for seen in stub.requests} == {stub.url.removeprefix("http://")}
    assert {seen.target for seen in stub.requests} == {"/"}


async def test_the_query_of_a_url_and_params_are_merged_before_the_policy_is_asked(stub: HttpStub) -> None:
    stub.on("GET", "/search", Reply())
    await HttpTransport().request(
        "GET",
        f"{stub.url}/search?a=1&b=2#part",
        params={"b": "3", "c": "x y"},
        configured=(stub.url,),
        **ASKED,
    )
    assert dict(stub.requests[0].params) == {"a": "1", "b": "3", "c": "x y"}


async def test_a_jar_keeps_nothing(stub: HttpStub) -> None:
    async with HttpTransport().client(ANN, purpose="tool", configured=(stub.url,)) as client:
        for _ in range(2):
            assert "set-cookie" in (await client.get(stub.url)).headers
        assert not client.cookies
    assert all("cookie" not in seen.headers for seen in stub.requests)


async def test_two_tenants_share_no_connection_header_or_cookie(stub: HttpStub) -> None:
    transport = HttpTransport()
    for scope in (ANN, OTHERS, ANN, OTHERS):
        await transport.request(
            "GET",
            stub.url,
            scope=scope,
            purpose="tool",
            configured=(stub.url,),
            headers={"X-Whose": scope.tenant},
            credential=bound(stub.url, scope.tenant),
        )
    whose = [
        (seen.connection, seen.headers["x-whose"], seen.headers["authorization"]) for seen in stub.requests
    ]
    assert whose == [(1, "acme", "Bearer acme"), (2, "globex", "Bearer globex")] * 2


async def connections_of(stub: HttpStub, *given: dict[str, Any]) -> list[int]:
    transport = HttpTransport()
    for each in given:
        options: dict[str, Any] = {**ASKED, "configured": (stub.url,), **each}
        await transport.request("GET", stub.url, **options)
    return [seen.connection for seen in stub.requests]


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ({}, {}, False),
        ({}, {"scope": BOB}, False),
        ({}, {"purpose": "oauth"}, True),
        ({"credential": "one"}, {"credential": "one"}, False),
        ({"credential": "one"}, {"credential": "two"}, True),
        ({"credential": "one"}, {"credential": "one", "scope": BOB}, True),
        ({}, {"credential": "one"}, True),
    ],
)
async def test_who_shares_a_connection(
    one: dict[str, Any], other: dict[str, Any], apart: bool, stub: HttpStub
) -> None:
    def given(each: dict[str, Any]) -> dict[str, Any]:
        named = each.get("credential")
        return {**each, "credential": bound(stub.url, identity=named) if named else None}

    assert await connections_of(stub, given(one), given(other)) == ([1, 2] if apart else [1, 1])


async def test_a_credential_is_asked_for_at_each_request_and_replaces_what_the_caller_gave(
    stub: HttpStub,
) -> None:
    secrets = iter(["first", "second"])

    async def resolve() -> ResolvedCredential:
        return secret(next(secrets))

    binding = CredentialBinding(f"{stub.url}/v1", resolve)
    transport = HttpTransport()
    for _ in range(2):
        await transport.request(
            "GET",
            stub.url,
            configured=(stub.url,),
            credential=binding,
            headers={"authorization": "Bearer mine"},
            **ASKED,
        )
    assert [seen.headers["authorization"] for seen in stub.requests] == ["Bearer first", "Bearer second"]
    assert "first" not in repr(binding)


async def test_a_credential_may_have_a_header_of_its_own_and_stand_alone(stub: HttpStub) -> None:
    await HttpTransport().request(
        "GET",
        stub.url,
        configured=(stub.url,),
        credential=bound(stub.url, header="api-key", scheme=""),
        **ASKED,
    )
    assert stub.requests[0].headers["api-key"] == "s3cret"
    assert "authorization" not in stub.requests[0].headers


@pytest.mark.parametrize(
    "origin", ["https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost:{port}"]
)
async def test_a_credential_of_another_origin_stays_at_home(origin: str, stub: HttpStub) -> None:
    asked = 0

    async def resolve() -> ResolvedCredential:
        nonlocal asked
        asked += 1
        return secret()

    port = stub.url.rpartition(":")[2]
    async with HttpTransport().client(
        ANN,
        purpose="tool",
        configured=(stub.url,),
        credential=CredentialBinding(origin.format(port=port), resolve),
    ) as client:
        await client.get(stub.url)
    assert asked == 0
    assert "authorization" not in stub.requests[0].headers


@pytest.mark.parametrize(
    ("host", "configured", "goes"),
    [
        ("api.example.com", False, False),
        ("api.example.com", True, True),
        ("127.0.0.1", False, True),
        ("localhost", False, True),
        ("localhost.example.com", False, False),
    ],
)
async def test_over_plain_http_a_credential_goes_to_loopback_and_to_configured_origins_alone(
    host: str, configured: bool, goes: bool, stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"api.example.com": ["8.8.8.8"], "localhost": ["127.0.0.1"], "localhost.example.com": ["8.8.8.8"]}
    reach = reaching(monkeypatch, stub, names)
    audit = Audit()
    transport = HttpTransport(policy=AllowAllEgress(), resolver=reach.resolve, audit=audit)
    url = f"http://{host}:{reach.port}/"
    named = (url,) if configured else ()
    if goes:
        await transport.request("GET", url, credential=bound(url), configured=named, **ASKED)
        assert stub.requests[0].headers["authorization"] == "Bearer s3cret"
    else:
        with pytest.raises(AccessDenied, match="configured="):
            await transport.request("GET", url, credential=bound(url), configured=named, **ASKED)
        assert stub.connections == 0
        assert audit.outcomes == [("/", 0, "refused")]


async def test_a_credential_that_is_missing_is_told_as_it_is(stub: HttpStub) -> None:
    async def resolve() -> ResolvedCredential:
        raise CredentialNotFound(ANN, "key")

    with pytest.raises(CredentialNotFound):
        await HttpTransport().request(
            "GET", stub.url, configured=(stub.url,), credential=CredentialBinding(stub.url, resolve), **ASKED
        )
    assert stub.connections == 0


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"origin": "api.example.com"}, "such as https://api.example.com"),
        ({"origin": "ftp://api.example.com"}, "scheme"),
        ({"header": "X A"}, "name of a header"),
        ({"scheme": "Bearer\r\n"}, "CR, LF"),
    ],
)
def test_a_binding_that_is_none_is_refused_with_what_to_give(made: dict[str, str], said: str) -> None:
    async def resolve() -> ResolvedCredential:
        return ResolvedCredential("one", SecretStr("s"))

    with pytest.raises(ValueError, match=said):
        CredentialBinding(**{"origin": "https://api.example.com", "resolve": resolve, **made})  # type: ignore[arg-type]  # some are wrong on purpose

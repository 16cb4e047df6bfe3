"""Encrypted connections, and a way through a proxy."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pytest

from packages.runtime.tests.egress_scenes import ASKED, PUBLIC, Policy, bound, secret, trusting
from packages.runtime.tests.egress_tls import Served, https, proxy
from psych_runtime.egress import connector
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.policy import AllOf, AllowAllEgress, DenyAllEgress, PublicOnly
from psych_runtime.egress.proxy import ProxyConfig
from psych_runtime.egress.sockets import dial
from psych_runtime.egress.transport import HttpTransport
from psych_runtime_core.errors import AccessDenied, RequestFailed
from psych_runtime_core.ports.egress import IPAddress
from psych_runtime_core.ports.secrets import ResolvedCredential


async def public(host: str, port: int) -> Sequence[str]:
    return [PUBLIC]


def leading_to(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def to_served(address: IPAddress, port: int) -> Any:
        from ipaddress import ip_address

        return await dial(ip_address("127.0.0.1"), served.port)

    monkeypatch.setattr(connector, "dial", to_served)


async def test_a_name_keeps_its_host_and_server_name_whatever_address_it_leads_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with https() as served:
        leading_to(served, monkeypatch)
        transport = HttpTransport(resolver=public, ssl_context=trusting())
        for _ in range(2):
            response = await transport.request(
                "GET", "https://api.example.com/x", credential=bound("https://api.example.com"), **ASKED
            )
            assert response.content == b"here"
        await transport.aclose()
    assert served.names == ["api.example.com"]
    assert served.connections == 1
    assert "Host: api.example.com\r\n" in served.heads[0]
    assert "Authorization: Bearer s3cret\r\n" in served.heads[0]


async def test_a_dot_that_ends_a_name_is_no_part_of_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    async with https() as served:
        leading_to(served, monkeypatch)
        transport = HttpTransport(resolver=public, ssl_context=trusting())
        credential = bound("https://api.example.com")
        response = await transport.request("GET", "https://api.example.com./", credential=credential, **ASKED)
        assert response.content == b"here"
        await transport.aclose()
    assert served.names == ["api.example.com"]
    assert "Host: api.example.com.\r\n" in served.heads[0]
    assert "Authorization: Bearer s3cret\r\n" in served.heads[0]


@pytest.mark.parametrize("wrong", ["the name", "the issuer"])
async def test_a_certificate_that_does_not_fit_delivered_nothing(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with https() as served:
        leading_to(served, monkeypatch)
        context = trusting() if wrong == "the name" else ssl.create_default_context()
        transport = HttpTransport(resolver=public, ssl_context=context)
        with pytest.raises(RequestFailed, match="certificate") as failed:
            await transport.request("GET", "https://api.example.org/", **ASKED)
        assert (failed.value.phase, failed.value.sent) == ("connect", False)
        assert "example" not in failed.value.detail
        assert not served.heads


async def test_a_reply_that_is_cut_within_tls_may_have_delivered_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with https(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf") as served:
        leading_to(served, monkeypatch)
        transport = HttpTransport(resolver=public, ssl_context=trusting())
        with pytest.raises(RequestFailed) as failed:
            await transport.request(
                "GET", "https://api.example.com/", timeouts=HttpTimeouts(read=0.05), **ASKED
            )
        assert (failed.value.phase, failed.value.sent) == ("read", True)


async def test_the_systems_certificates_are_read_once_and_trust_no_stranger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with https() as served:
        leading_to(served, monkeypatch)
        for transport in (HttpTransport(resolver=public), HttpTransport(resolver=public)):
            with pytest.raises(RequestFailed, match="certificate"):
                await transport.request("GET", "https://api.example.com/", **ASKED)


def through(served: Served, *, secure: bool = False, **given: Any) -> HttpTransport:
    url = f"{'https' if secure else 'http'}://127.0.0.1:{served.port}"
    settings: dict[str, Any] = {"enforces_policy": True, **given}
    return HttpTransport(proxy=ProxyConfig(url=url, **settings), ssl_context=trusting())


async def user() -> ResolvedCredential:
    return secret("ann:pw")


@pytest.mark.parametrize("secure", [False, True])
async def test_https_goes_through_a_tunnel_that_sees_nothing_of_it(secure: bool) -> None:
    async with https() as served, proxy(served.port, secure=secure) as proxied:
        transport = through(proxied, secure=secure, credential=user)
        for _ in range(2):
            response = await transport.request("GET", "https://api.example.com/secret", **ASKED)
            assert response.content == b"here"
        await transport.aclose()
    assert len(proxied.heads) == 1
    assert proxied.heads[0].startswith("CONNECT api.example.com:443 ")
    assert f"Proxy-Authorization: Basic {b64encode(b'ann:pw').decode()}\r\n" in proxied.heads[0]
    assert "Proxy-Authorization" not in "".join(served.heads)


async def test_http_is_asked_of_the_proxy_whole() -> None:
    async with proxy(0) as proxied:
        transport = through(proxied, credential=user)
        response = await transport.request("GET", "http://plain.example.com/a?b=c", **ASKED)
        assert response.content == b"here"
        await transport.aclose()
    assert proxied.heads[0].startswith("GET http://plain.example.com/a?b=c HTTP/1.1\r\n")
    assert "Host: plain.example.com\r\n" in proxied.heads[0]


async def test_a_proxy_that_refuses_delivered_nothing() -> None:
    async with proxy(0, refuses="407 Proxy Authentication Required") as proxied:
        transport = through(proxied)
        with pytest.raises(RequestFailed, match="the proxy answered 407") as failed:
            await transport.request("GET", "https://api.example.com/", **ASKED)
        assert (failed.value.phase, failed.value.sent) == ("connect", False)
        await transport.aclose()


async def test_tunnels_that_lead_nowhere_do_not_use_up_the_pool() -> None:
    async with https() as served, proxy(served.port) as proxied:
        url = f"http://127.0.0.1:{proxied.port}"
        transport = HttpTransport(
            proxy=ProxyConfig(url=url, enforces_policy=True), ssl_context=trusting(), connections=1
        )
        for _ in range(3):
            with pytest.raises(RequestFailed, match="certificate"):
                await transport.request("GET", "https://api.example.org/", **ASKED)
        response = await transport.request("GET", "https://api.example.com/", **ASKED)
        assert response.content == b"here"
        await transport.aclose()


async def test_a_tunnel_that_failed_leaves_those_that_are_in_use() -> None:
    async with https() as served, proxy(served.port) as proxied:
        served.held.clear()
        transport = through(proxied)
        async with transport.stream("GET", "https://api.example.com/", **ASKED) as response:
            with pytest.raises(RequestFailed, match="certificate"):
                await transport.request("GET", "https://api.example.org/", **ASKED)
            served.held.set()
            assert await response.aread() == b"here"
        await transport.aclose()


async def test_who_never_had_a_turn_makes_no_room_for_the_next() -> None:
    async with https() as served, proxy(served.port) as proxied:
        transport = HttpTransport(
            proxy=ProxyConfig(url=f"http://127.0.0.1:{proxied.port}", enforces_policy=True),
            ssl_context=trusting(),
            connections=1,
            timeouts=HttpTimeouts(pool=0.05),
        )
        async with transport.stream("GET", "https://api.example.com/", **ASKED):
            for _ in range(3):
                with pytest.raises(RequestFailed, match="no connection was free"):
                    await transport.request("GET", "https://api.example.com/", **ASKED)
        assert len(proxied.heads) == 1
        await transport.aclose()


async def test_a_hop_is_judged_though_a_proxy_carries_it() -> None:
    async with proxy(0) as proxied:
        policy = Policy(hops=False)
        config = ProxyConfig(url=f"http://127.0.0.1:{proxied.port}", enforces_policy=True)
        with pytest.raises(AccessDenied, match="not today"):
            await HttpTransport(policy=policy, proxy=config).request(
                "GET", "http://plain.example.com/", **ASKED
            )
        assert not policy.judged
    assert not proxied.heads


@pytest.mark.parametrize(
    ("policy", "enforces", "taken"),
    [
        (None, False, False),
        (None, True, True),
        (PublicOnly(), False, False),
        (Policy(), False, False),
        (AllOf(AllowAllEgress(), PublicOnly()), False, False),
        (AllowAllEgress(), False, True),
        (DenyAllEgress(), False, True),
        (AllOf(AllowAllEgress()), False, True),
    ],
)
def test_a_policy_that_judges_addresses_needs_a_proxy_that_does(
    policy: Any, enforces: bool, taken: bool
) -> None:
    config = ProxyConfig(url="http://proxy.example.com:3128", enforces_policy=enforces)
    if taken:
        HttpTransport(policy=policy, proxy=config)
    else:
        with pytest.raises(ValueError, match="enforces_policy"):
            HttpTransport(policy=policy, proxy=config)


@pytest.mark.parametrize("url", ["proxy.example.com", "socks5://proxy.example.com", "http://ann:pw@proxy:1"])
def test_a_proxy_that_is_none_is_refused_with_what_to_give(url: str) -> None:
    with pytest.raises(ValueError, match="a proxy has a URL such as") as refused:
        ProxyConfig(url=url)
    assert "pw" not in str(refused.value)

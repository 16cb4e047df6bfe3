"""What a transport connects to: judged addresses of the one resolution, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from packages.runtime.tests.egress_scenes import ANN, ASKED, PUBLIC, Policy, Reach, port_of, reaching
from psych_runtime.egress.policy import AllowAllEgress, DenyAllEgress, PublicOnly
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime_core.errors import AccessDenied, PsychError, RequestFailed
from psych_runtime_core.ports.egress import EgressDecision, EgressRequest, IPAddress

# Written with {port}, the stub's.
INWARD = [
    "http://127.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://2130706433:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0x7f.0.0.1:{port}/",
    "http://0x7f000001:{port}/",
    "http://0:{port}/",
    "http://localhost:{port}/",
    "http://localhost.:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://[::1]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[::ffff:0:127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[fe80::1%25lo]:{port}/",
    "http://[::1%25lo]:{port}/",
    "http://１２７.０.０.１:{port}/",
    "http://127。0。0。1:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://127.0.0.1%2f.example.com:{port}/",
    "http://ann:pw@127.0.0.1:{port}/",
    "http://example.com@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.com/",
    "http:///127.0.0.1:{port}/",
    "http://inward.example.com:{port}/",
    "http://cname.example.com:{port}/",
    "http://mixed.example.com:{port}/",
    "http://10.1.2.3:{port}/",
    "http://192.168.0.1:{port}/",
    "http://[fd12::1]:{port}/",
    "http://169.254.169.254:{port}/latest/meta-data/",
    "http://[fd00:ec2::254]:{port}/",
    "http://100.100.100.200:{port}/",
    "http://168.63.129.16:{port}/",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_GET",
    "file:///etc/passwd",
    "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "ws://127.0.0.1:{port}/",
    "data:text/plain,hello",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}/",
    "",
]
NAMES = {
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1"],
    "inward.example.com": ["127.0.0.1"],
    "cname.example.com": ["10.0.0.7"],
    "mixed.example.com": [PUBLIC, "127.0.0.1"],
    "public.example.com": [PUBLIC],
    "six.example.com": ["2606:2800:220:1::1"],
}


@pytest.fixture
def stub(stub: HttpStub) -> HttpStub:
    stub.on("GET", "/", Reply(body=b"here"))
    return stub


@pytest.mark.parametrize("url", INWARD)
async def test_nothing_inward_is_connected_to_however_it_is_spelled(
    url: str, stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub, NAMES)
    transport = HttpTransport(resolver=reach.resolve)
    with pytest.raises(PsychError) as refused:
        await transport.request("GET", url.format(port=port_of(stub)), **ASKED)
    assert isinstance(refused.value, AccessDenied) or "connect" in str(refused.value)
    assert not reach.dialled
    assert stub.connections == 0


@pytest.mark.parametrize("host", ["public.example.com", "six.example.com", PUBLIC, "[2606:2800:220:1::1]"])
async def test_what_is_public_is_reached(host: str, stub: HttpStub, monkeypatch: pytest.MonkeyPatch) -> None:
    reach = reaching(monkeypatch, stub, NAMES)
    response = await HttpTransport(resolver=reach.resolve).request("GET", f"http://{host}/", **ASKED)
    assert response.content == b"here"
    assert len(reach.dialled) == 1
    assert stub.requests[0].headers["host"] == host


async def test_a_name_is_resolved_once_for_a_connection_and_not_again_while_it_lasts(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub, NAMES)
    transport = HttpTransport(resolver=reach.resolve)
    for _ in range(3):
        await transport.request("GET", "http://public.example.com/", **ASKED)
    assert reach.resolved == ["public.example.com"]
    assert stub.connections == 1


async def test_a_name_that_leads_inward_later_is_refused_at_its_next_connection(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub, NAMES)
    transport = HttpTransport(resolver=reach.resolve)
    await transport.request("GET", "http://public.example.com/", **ASKED)
    reach.names["public.example.com"] = ["127.0.0.1"]
    await transport.aclose()
    with pytest.raises(AccessDenied):
        await transport.request("GET", "http://public.example.com/", **ASKED)
    assert reach.dialled == [PUBLIC]


async def test_every_address_is_judged_before_any_is_connected_to(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = [PUBLIC, "8.8.8.8", "2606:2800:220:1::1"]
    reach = reaching(monkeypatch, stub, {"many.example.com": addresses})
    policy = Policy()
    await HttpTransport(policy=policy, resolver=reach.resolve).request(
        "GET", "http://many.example.com/", **ASKED
    )
    assert [address for _, address in policy.judged] == addresses
    assert {request for request, _ in policy.judged} == set(policy.asked)
    assert policy.asked[0] == EgressRequest(
        scope=ANN,
        purpose="tool",
        method="GET",
        url="http://many.example.com/",
        scheme="http",
        host="many.example.com",
        port=80,
    )


@pytest.mark.parametrize("configured", [True, False])
async def test_a_configured_origin_of_this_machine_is_reached_and_another_is_not(
    configured: bool, stub: HttpStub
) -> None:
    transport = HttpTransport()
    named = (f"{stub.url}/v1",) if configured else ()
    if configured:
        assert (await transport.request("GET", stub.url, configured=named, **ASKED)).content == b"here"
    else:
        with pytest.raises(AccessDenied, match="PublicOnly"):
            await transport.request("GET", stub.url, configured=named, **ASKED)
    assert stub.connections == configured


async def test_metadata_is_refused_configured_or_listed(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub)
    url = "http://169.254.169.254/"
    transport = HttpTransport(policy=PublicOnly(allow=("169.254.0.0/15",)), resolver=reach.resolve)
    with pytest.raises(AccessDenied):
        await transport.request("GET", url, configured=(url,), **ASKED)
    assert not reach.dialled


async def test_the_connection_of_a_configured_origin_serves_nobody_else(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub, {"vault.example.com": ["10.0.0.7"]})
    url = "http://vault.example.com/"
    transport = HttpTransport(resolver=reach.resolve)
    await transport.request("GET", url, configured=(url,), **ASKED)
    with pytest.raises(AccessDenied):
        await transport.request("GET", url, **ASKED)
    await transport.request("GET", url, configured=(url,), **ASKED)
    assert (stub.connections, len(stub.requests)) == (1, 2)


async def test_a_policy_that_denies_everything_resolves_nothing(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub, NAMES)
    transport = HttpTransport(policy=DenyAllEgress(), resolver=reach.resolve)
    with pytest.raises(AccessDenied):
        await transport.request("GET", "http://public.example.com/", **ASKED)
    assert not reach.resolved


@pytest.mark.parametrize("asked", ["hop", "address"])
async def test_a_policy_that_raises_denies(
    asked: str, stub: HttpStub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Policy):
        async def allow(self, request: EgressRequest) -> EgressDecision:
            return await super().allow(request) if asked == "address" else _broken()

        async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
            return _broken()

    reach = reaching(monkeypatch, stub, NAMES)
    with pytest.raises(AccessDenied, match="Broken"):
        await HttpTransport(policy=Broken(), resolver=reach.resolve).request(
            "GET", "http://public.example.com/", **ASKED
        )
    assert not reach.dialled


def _broken() -> EgressDecision:
    raise RuntimeError("out of order")


async def test_a_policy_that_changes_its_mind_is_obeyed_on_a_warm_connection(stub: HttpStub) -> None:
    policy = Policy()
    transport = HttpTransport(policy=policy)
    await transport.request("GET", stub.url, **ASKED)
    policy.hops = False
    with pytest.raises(AccessDenied, match="not today"):
        await transport.request("GET", stub.url, **ASKED)
    policy.hops = True
    await transport.request("GET", stub.url, **ASKED)
    assert (stub.connections, len(stub.requests)) == (1, 2)


async def test_a_client_of_an_sdk_is_judged_as_everybody(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = reaching(monkeypatch, stub, NAMES)
    async with HttpTransport(resolver=reach.resolve).client(ANN, purpose="mcp") as client:
        assert (await client.get("http://public.example.com/")).content == b"here"
        with pytest.raises(AccessDenied):
            await client.get(stub.url)
    assert reach.dialled == [PUBLIC]


async def test_variables_for_proxies_and_netrc_are_not_read(
    stub: HttpStub, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("default login ann password pw\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    await HttpTransport().request("GET", stub.url, configured=(stub.url,), **ASKED)
    async with HttpTransport().client(ANN, purpose="tool", configured=(stub.url,)) as client:
        await client.get(stub.url)
    assert [seen.target for seen in stub.requests] == ["/", "/"]
    assert not [seen for seen in stub.requests if "authorization" in seen.headers]


class _Nowhere(Reach):
    async def resolve(self, host: str, port: int) -> Sequence[str | IPAddress]:
        raise OSError(-2, "Name or service not known")


async def test_a_name_that_leads_nowhere_failed_before_anything_was_sent(stub: HttpStub) -> None:
    transport = HttpTransport(policy=AllowAllEgress(), resolver=_Nowhere(1).resolve)
    with pytest.raises(RequestFailed) as failed:
        await transport.request("GET", "http://nowhere.example.com/", **ASKED)
    assert (failed.value.phase, failed.value.sent) == ("connect", False)
    assert failed.value.origin == "http://nowhere.example.com:80"
    assert "its name cannot be looked up" in str(failed.value)


async def test_authorize_asks_and_sends_nothing(stub: HttpStub) -> None:
    policy = Policy()
    transport = HttpTransport(policy=policy)
    await transport.authorize("GET", stub.url, **ASKED)
    policy.hops = False
    with pytest.raises(AccessDenied, match="not today"):
        await transport.authorize("GET", stub.url, **ASKED)
    with pytest.raises(AccessDenied, match="scheme"):
        await transport.authorize("GET", "file:///etc/passwd", **ASKED)
    assert [request.origin for request in policy.asked] == [stub.url, stub.url]
    assert stub.connections == 0

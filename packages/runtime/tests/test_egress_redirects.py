"""Where a redirect may lead, by a request that follows it and by a client that does so itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from packages.runtime.tests.egress_scenes import ANN, ASKED, Audit, bound
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.redirects import Journey
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Reply, SeenRequest
from psych_runtime_core.errors import AccessDenied, RequestFailed
from psych_runtime_core.ports.egress import EgressRequest

OPEN = HttpTransport(policy=AllowAllEgress())


@pytest.fixture
async def home() -> AsyncIterator[HttpStub]:
    async with HttpStub() as stub:
        for method in ("GET", "POST", "PUT", "HEAD"):
            stub.on(method, "/end", lambda seen: Reply(json={"method": seen.method}))
        yield stub


@pytest.fixture
async def abroad() -> AsyncIterator[HttpStub]:
    async with HttpStub() as stub:
        for method in ("GET", "POST"):
            stub.on(method, "/end", Reply(body=b"abroad"))
        yield stub


def leads(stub: HttpStub, path: str, to: str, status: int = 302, methods: str = "GET POST PUT HEAD") -> None:
    for method in methods.split():
        stub.on(method, path, Reply(status=status, headers={"location": to}))


async def test_a_redirect_is_handed_on_unless_it_is_to_be_followed(home: HttpStub) -> None:
    leads(home, "/start", "/end")
    response = await OPEN.request("GET", f"{home.url}/start", **ASKED)
    assert (response.status_code, response.headers["location"]) == (302, "/end")
    assert len(home.requests) == 1


@pytest.mark.parametrize(
    ("method", "status", "then"),
    [
        ("GET", 301, "GET"),
        ("GET", 302, "GET"),
        ("GET", 303, "GET"),
        ("GET", 307, "GET"),
        ("GET", 308, "GET"),
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("PUT", 301, "PUT"),
        ("PUT", 302, "PUT"),
        ("PUT", 303, "GET"),
        ("HEAD", 303, "HEAD"),
    ],
)
async def test_the_method_and_body_of_the_next_hop(
    method: str, status: int, then: str, home: HttpStub
) -> None:
    leads(home, "/start", "/end", status)
    sent: dict[str, Any] = {"json": {"a": 1}} if method in {"POST", "PUT"} else {}
    response = await OPEN.request(
        method, f"{home.url}/start", redirects=1, headers={"X-Key": "k"}, **sent, **ASKED
    )
    first, last = home.requests
    assert response.status_code == 200
    assert last.method == then
    assert last.headers["x-key"] == "k"
    assert last.body == (first.body if then == method else b"")
    assert ("content-type" in last.headers) == bool(last.body)


async def test_to_another_origin_nothing_of_the_caller_goes_along(home: HttpStub, abroad: HttpStub) -> None:
    leads(home, "/start", f"{abroad.url}/end")
    response = await OPEN.request(
        "GET",
        f"{home.url}/start",
        redirects=1,
        headers={"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "Accept": "text/plain"},
        credential=bound(home.url),
        **ASKED,
    )
    assert response.content == b"abroad"
    assert home.requests[0].headers["authorization"] == "Bearer s3cret"
    assert set(abroad.requests[0].headers) == {"host", "accept", "accept-encoding", "user-agent"}
    assert abroad.requests[0].headers["accept"] == "*/*"


async def test_what_was_dropped_on_the_way_does_not_come_back_with_the_request(
    home: HttpStub, abroad: HttpStub
) -> None:
    leads(home, "/start", f"{abroad.url}/back")
    leads(abroad, "/back", f"{home.url}/end")
    await OPEN.request("GET", f"{home.url}/start", redirects=2, headers={"X-Api-Key": "k"}, **ASKED)
    assert ["x-api-key" in seen.headers for seen in home.requests] == [True, False]


@pytest.mark.parametrize("status", [307, 308])
async def test_a_body_is_not_sent_on_to_another_origin(status: int, home: HttpStub, abroad: HttpStub) -> None:
    leads(home, "/start", f"{abroad.url}/end", status)
    with pytest.raises(RequestFailed, match="a body is not sent on to another origin") as refused:
        await OPEN.request(
            "POST", f"{home.url}/start", redirects=1, json={}, credential=bound(home.url), **ASKED
        )
    assert (refused.value.phase, refused.value.sent) == ("redirect", True)
    assert abroad.connections == 0


async def test_a_post_without_a_body_may_be_led_on(home: HttpStub, abroad: HttpStub) -> None:
    leads(home, "/start", f"{abroad.url}/end", 307)
    response = await OPEN.request("POST", f"{home.url}/start", redirects=1, **ASKED)
    assert response.content == b"abroad"
    assert abroad.requests[0].headers["content-length"] == "0"


async def test_a_body_that_was_a_stream_cannot_be_sent_again(home: HttpStub) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"once"

    leads(home, "/start", "/end", 307)
    with pytest.raises(RequestFailed, match="cannot be sent again"):
        await OPEN.request("POST", f"{home.url}/start", redirects=1, content=pieces(), **ASKED)


@pytest.mark.parametrize("hops", [1, 5])
async def test_redirects_are_followed_to_their_number_and_no_further(hops: int, home: HttpStub) -> None:
    for step in range(hops):
        leads(home, f"/{step}", f"/{step + 1}")
    leads(home, f"/{hops}", "/end")
    with pytest.raises(RequestFailed, match="too often") as refused:
        await OPEN.request("GET", f"{home.url}/0", redirects=hops, **ASKED)
    assert refused.value.phase == "redirect"
    assert len(home.requests) == hops + 1


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("/start", "loop"),
        ("http://ann:pw@{host}/end", "user and password"),
        ("http://[::1/end", "no URL"),
        ("ftp://{host}/end", "scheme"),
        ("http://127.0.0.1:99999/end", "no URL|port"),
    ],
)
async def test_where_no_redirect_may_lead(location: str, said: str, home: HttpStub) -> None:
    leads(home, "/start", location.format(host=home.url.removeprefix("http://")))
    with pytest.raises((AccessDenied, RequestFailed), match=said):
        await OPEN.request("GET", f"{home.url}/start", redirects=3, **ASKED)
    assert len(home.requests) == 1


@pytest.mark.parametrize(
    "location", ["// @@", "http://", "http://[::1", "", "//", "http://a b", "http://\\xad"]
)
@pytest.mark.parametrize("redirects", [0, 1])
async def test_a_location_that_leads_nowhere_is_handed_on_or_told_of(
    redirects: int, location: str, home: HttpStub
) -> None:
    leads(home, "/start", location)
    async with OPEN.client(ANN, purpose="tool") as client:
        assert (await client.get(f"{home.url}/start")).headers["location"] == location
    if redirects:
        with pytest.raises((AccessDenied, RequestFailed)):
            await OPEN.request("GET", f"{home.url}/start", redirects=1, **ASKED)
    else:
        response = await OPEN.request("GET", f"{home.url}/start", **ASKED)
        assert response.headers["location"] == location


async def test_a_loop_over_two_places_is_refused_when_it_closes(home: HttpStub) -> None:
    leads(home, "/a", "/b")
    leads(home, "/b", "/a")
    with pytest.raises(RequestFailed, match="loop"):
        await OPEN.request("GET", f"{home.url}/a", redirects=5, **ASKED)
    assert [seen.path for seen in home.requests] == ["/a", "/b"]


async def test_a_form_that_leads_back_to_its_page_is_no_loop(home: HttpStub) -> None:
    leads(home, "/page", "/page", 303, "POST")
    home.on("GET", "/page", Reply(body=b"thanks"))
    response = await OPEN.request("POST", f"{home.url}/page", redirects=1, json={}, **ASKED)
    assert response.content == b"thanks"


async def test_no_redirect_of_a_configured_origin_leads_inward(home: HttpStub) -> None:
    audit = Audit()
    leads(home, "/start", "/end")
    transport = HttpTransport(audit=audit)
    with pytest.raises(AccessDenied):
        await transport.request("GET", f"{home.url}/start", redirects=1, configured=(home.url,), **ASKED)
    assert audit.outcomes == [("/start", 0, "allowed"), ("/end", 1, "refused")]
    assert len(home.requests) == 1


@pytest.fixture
async def following(home: HttpStub) -> AsyncIterator[Any]:
    """A client that follows by itself, as some SDKs do."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            HttpTransport().client(
                ANN, purpose="mcp", configured=(home.url,), headers={"X-Key": "k"}, credential=bound(home.url)
            )
        )
        client.follow_redirects = True
        yield client


async def test_a_hop_that_a_client_makes_by_itself_is_not_configured(home: HttpStub, following: Any) -> None:
    leads(home, "/start", "/end")
    with pytest.raises(AccessDenied):
        await following.get(f"{home.url}/start")
    assert len(home.requests) == 1
    assert (await following.get(f"{home.url}/end")).status_code == 200


@pytest.mark.parametrize(
    "location",
    ["http:127.0.0.1:1/", "http:\\\\127.0.0.1:1/", "http:", "http:a b", "http://[::1", "http://x:99999/"],
)
async def test_a_client_that_follows_is_handed_a_location_that_is_no_url(
    location: str, home: HttpStub, following: Any
) -> None:
    leads(home, "/start", location)
    try:
        response = await following.get(f"{home.url}/start#part")
    except AccessDenied:
        pass
    else:
        assert (response.status_code, response.headers["location"]) == (302, location)
    assert len(home.requests) == 1


async def test_a_client_that_follows_is_led_on_so_often_and_no_further(home: HttpStub) -> None:
    for step in range(25):
        leads(home, f"/{step}", f"{home.url}/{step + 1}")
    async with OPEN.client(ANN, purpose="mcp") as client:
        client.follow_redirects = True
        with pytest.raises(RequestFailed, match="led on over 19 times") as failed:
            await client.get(f"{home.url}/0")
    assert failed.value.phase == "redirect"
    assert len(home.requests) == 20


async def test_a_client_that_follows_cannot_send_a_stream_again(home: HttpStub) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"

    home.on("POST", "/start", Reply(status=307, headers={"location": "/end"}))
    async with OPEN.client(ANN, purpose="mcp") as client:
        client.follow_redirects = True
        with pytest.raises(RequestFailed, match="cannot be sent again") as failed:
            await client.post(f"{home.url}/start", content=pieces())
    assert failed.value.phase == "redirect"
    assert len(home.requests) == 1


async def test_a_client_that_follows_takes_nothing_to_another_origin(
    home: HttpStub, abroad: HttpStub
) -> None:
    leads(home, "/start", f"{abroad.url}/end")
    leads(home, "/moved", f"{abroad.url}/end", 307)
    async with OPEN.client(ANN, purpose="mcp", headers={"X-Key": "k"}, credential=bound(home.url)) as client:
        response = await client.get(f"{home.url}/start", headers={"X-More": "m"}, follow_redirects=True)
        assert response.content == b"abroad"
        with pytest.raises(RequestFailed, match="a body is not sent on"):
            await client.post(f"{home.url}/moved", json={}, follow_redirects=True)
    assert home.requests[0].headers["x-more"] == "m"
    assert not {"x-key", "x-more", "authorization"} & set(abroad.requests[0].headers)
    assert len(abroad.requests) == 1


async def test_a_request_that_a_flow_sends_again_is_no_redirect(home: HttpStub) -> None:
    import httpx2

    def answer(seen: SeenRequest) -> Reply:
        return Reply(body=b"in") if "authorization" in seen.headers else Reply(status=401)

    class Flow(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
            response = yield request
            if response.status_code == 401:
                request.headers["Authorization"] = "Bearer fetched"
                yield request

    home.on("GET", "/guarded", answer)
    transport = HttpTransport()
    response = await transport.request(
        "GET", f"{home.url}/guarded", auth=Flow(), configured=(home.url,), **ASKED
    )
    assert response.content == b"in"


def hop(method: str, url: str, origin: str, number: int) -> EgressRequest:
    scheme, _, host = origin.partition("://")
    return EgressRequest(
        scope=ANN, purpose="tool", method=method, url=url, scheme=scheme, host=host, port=443, hop=number
    )


def test_a_journey_does_not_go_from_https_to_http() -> None:
    journey = Journey()
    for number, origin in enumerate(["http://a", "https://a", "http://a"]):
        journey = journey.on_to(hop("GET", f"{origin}/{number}", origin, number))
        assert (journey.refusal(body=False) is not None) == (number == 2)
    assert journey.refusal(body=False) == "it leads from https to http"


@pytest.mark.parametrize("number", [-1, 6])
async def test_a_number_of_redirects_out_of_bounds_is_refused_with_what_to_give(number: int) -> None:
    with pytest.raises(ValueError, match="at most 5"):
        await OPEN.request("GET", "https://example.com", redirects=number, **ASKED)

"""A request that was led to a foreign origin has lost what it carried, and does not get it back at home."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from itertools import product
from typing import Any

import httpx2
import pytest

from packages.runtime.tests.egress_scenes import ANN, ASKED, bound
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Reply

OPEN = HttpTransport(policy=AllowAllEgress())

# Where a request is led, by the names of the origins: all ways of up to five hops that begin at home.
JOURNEYS = ["h" + "".join(on) for length in range(1, 5) for on in product("hf", repeat=length)]
OWN = {"X-Own": "k", "Authorization": "Bearer theirs"}


@pytest.fixture
async def origins() -> AsyncGenerator[dict[str, HttpStub]]:
    """Home and a foreign one."""
    async with HttpStub() as home, HttpStub() as foreign:
        yield {"h": home, "f": foreign}


class Flow(httpx2.Auth):
    """A key in a header and in the query, as flows of SDKs put it."""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers["X-Flow"] = "flow"
        request.url = request.url.copy_merge_params({"flow": "flow"})
        yield request


def route(origins: dict[str, HttpStub], journey: str) -> str:
    """Where a request begins that is to be led along `journey`; a path tells which hop it is."""
    urls = [f"{origins[name].url}/{hop}" for hop, name in enumerate(journey)]
    for hop, (name, leads_to) in enumerate(zip(journey, [*urls[1:], ""], strict=True)):
        reply = Reply(status=302, headers={"location": leads_to}) if leads_to else Reply(body=b"end")
        origins[name].on("GET", f"/{hop}", reply)
    return urls[0]


async def led(origins: dict[str, HttpStub], journey: str, way: str, **given: Any) -> list[dict[str, str]]:
    """What each hop carried, its query with it."""
    url = route(origins, journey)
    if way == "request":
        reply = await OPEN.request("GET", url, redirects=5, headers=OWN, **given, **ASKED)
    else:
        async with OPEN.client(ANN, purpose="tool", headers=OWN, **given) as client:
            reply = await client.get(url, follow_redirects=True)
    assert reply.content == b"end"
    seen = sorted((one for stub in origins.values() for one in stub.requests), key=lambda one: one.path)
    assert len(seen) == len(journey)
    return [{**one.headers, "?": one.query} for one in seen]


@pytest.mark.parametrize("way", ["request", "client that follows"])
@pytest.mark.parametrize("journey", JOURNEYS)
async def test_a_credential_and_what_the_caller_gave_end_where_a_journey_strays(
    journey: str, way: str, origins: dict[str, HttpStub]
) -> None:
    carried = await led(origins, journey, way, credential=bound(origins["h"].url, "ours"))
    at_home = len(journey) - len(journey.lstrip("h"))
    for hop, headers in enumerate(carried):
        mine = {name: headers.get(name) for name in ("authorization", "x-own")}
        kept = {"authorization": "Bearer ours", "x-own": "k"}
        assert mine == (kept if hop < at_home else dict.fromkeys(kept)), hop


@pytest.mark.parametrize("way", ["request", "client that follows"])
@pytest.mark.parametrize("journey", JOURNEYS)
async def test_what_a_flow_of_auth_adds_ends_there_too(
    journey: str, way: str, origins: dict[str, HttpStub]
) -> None:
    carried = await led(origins, journey, way, auth=Flow())
    at_home = len(journey) - len(journey.lstrip("h"))
    assert ["x-flow" in headers for headers in carried] == [hop < at_home for hop in range(len(journey))]
    assert not any(headers["?"] for headers in carried[at_home:])


@pytest.mark.parametrize("way", ["request", "client that follows"])
async def test_a_credential_for_where_a_stranger_leads_is_not_sent(
    way: str, origins: dict[str, HttpStub]
) -> None:
    carried = await led(origins, "hf", way, credential=bound(origins["f"].url))
    assert carried[1].get("authorization") is None


async def test_a_request_of_its_own_carries_the_credential_whatever_strayed_before(
    origins: dict[str, HttpStub],
) -> None:
    credential = bound(origins["h"].url, "ours")
    await led(origins, "hfh", "request", credential=credential)
    origins["h"].on("GET", "/anew", Reply())
    await OPEN.request("GET", f"{origins['h'].url}/anew", credential=credential, **ASKED)
    assert origins["h"].requests[-1].headers["authorization"] == "Bearer ours"

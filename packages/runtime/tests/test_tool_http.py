"""A tool's own way out over HTTP: bound to its Scope, and to nothing that it did not ask for."""

from __future__ import annotations

import asyncio

import pytest

from packages.runtime.tests.http_scenes import ANN, context_in, runtime_of
from psych_runtime import InMemoryStore, Runtime, ToolRegistry
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing import FakeModel
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressEvent


async def test_every_way_out_is_told_of_as_the_tools_own() -> None:
    events: list[EgressEvent] = []
    runtime = runtime_of(HttpTransport(policy=AllowAllEgress(), audit=events.append))
    http = context_in(runtime).http
    async with HttpStub() as stub:
        stub.on("GET", "/a", Reply(json=1))
        stub.on("POST", "/a", Reply(json=2))
        assert (await http.request("POST", f"{stub.url}/a", json={"n": 1}, headers={"X-A": "b"})).json() == 2
        async with http.stream("GET", f"{stub.url}/a", params={"k": "v"}) as response:
            assert b"".join([piece async for piece in response.aiter_bytes()]) == b"1"
        async with http.client(headers={"X-A": "b"}) as client:
            assert (await client.get(f"{stub.url}/a")).json() == 1
        assert [seen.headers.get("x-a") for seen in stub.requests] == ["b", None, "b"]
        assert stub.requests[1].query == "k=v"
    asked = {(event.tenant, event.principal, event.purpose) for event in events}
    assert (len(events), asked) == (3, {("acme", "ann", "tool")})


async def test_a_tools_own_code_may_name_an_origin_of_its_own() -> None:
    http = context_in(runtime_of(HttpTransport())).http
    async with HttpStub() as stub:
        stub.on("GET", "/a", Reply(json=1))
        with pytest.raises(AccessDenied):
            await http.request("GET", f"{stub.url}/a")
        assert (await http.request("GET", f"{stub.url}/a", configured=(stub.url,))).json() == 1


async def test_a_context_without_a_runtime_reaches_nothing() -> None:
    http = context_in(None).http
    with pytest.raises(RuntimeError, match=r"ToolContext\(…, runtime=runtime\)"):
        await http.request("GET", "https://a.example/")
    with pytest.raises(RuntimeError):
        http.stream("GET", "https://a.example/")
    with pytest.raises(RuntimeError):
        http.client()


def test_a_transport_is_opened_when_it_is_first_needed() -> None:
    runtime = Runtime(store=InMemoryStore(), model=FakeModel(), registry=ToolRegistry())
    context = context_in(runtime)
    assert (context.http.scope, context.cancelled) == (ANN, False)
    assert "_own_transport" not in vars(runtime)
    context.http.client()
    assert "_own_transport" in vars(runtime)
    asyncio.run(runtime.aclose())


def test_a_context_shows_nothing_of_what_it_reaches() -> None:
    shown = repr(context_in(runtime_of()))
    assert "Runtime" not in shown
    assert "secrets" not in shown

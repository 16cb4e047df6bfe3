"""How long connections are kept, for whom, and how many."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from packages.runtime.tests.egress_scenes import ASKED
from psych_runtime.egress import pool_settings, pools
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Raw, Reply
from psych_runtime_core.errors import RequestFailed
from psych_runtime_core.scope import Scope


@pytest.fixture
def stub(stub: HttpStub) -> HttpStub:
    stub.on("GET", "/", Reply(body=b"here"))
    return stub


async def ask(transport: HttpTransport, stub: HttpStub, tenant: str = "acme", **options: Any) -> int:
    """The number of the connection it went over."""
    given: dict[str, Any] = {**ASKED, "scope": Scope(tenant=tenant), "configured": (stub.url,), **options}
    await transport.request("GET", stub.url, **given)
    return stub.requests[-1].connection


async def test_the_least_recently_used_pool_makes_room(stub: HttpStub) -> None:
    transport = HttpTransport(max_pools=2)
    for tenant, connection in [("a", 1), ("b", 2), ("a", 1), ("c", 3), ("a", 1), ("c", 3), ("b", 4)]:
        assert await ask(transport, stub, tenant) == connection


async def test_a_pool_in_use_is_not_closed_for_another(stub: HttpStub) -> None:
    more = anyio.Event()
    stub.on("GET", "/", Reply(chunks=(b"first", more, b"last")), Reply(body=b"here"))
    transport = HttpTransport(max_pools=1)
    options: dict[str, Any] = {**ASKED, "configured": (stub.url,)}
    async with transport.stream("GET", stub.url, **options) as response:
        assert await ask(transport, stub, "b") == 2
        assert await ask(transport, stub, "c") == 3
        more.set()
        assert await response.aread() == b"firstlast"
    assert await ask(transport, stub, "c") == 3


@pytest.mark.parametrize(("seconds", "connection"), [(299.0, 1), (301.0, 3)])
async def test_a_pool_that_was_idle_for_300_seconds_is_closed(
    seconds: float, connection: int, stub: HttpStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = HttpTransport(keepalive_seconds=10_000.0)
    await ask(transport, stub)
    await ask(transport, stub, "another")
    now = anyio.current_time()
    monkeypatch.setattr("psych_runtime.egress.pools.anyio.current_time", lambda: now + seconds)
    assert await ask(transport, stub) == connection


async def test_a_connection_that_the_server_closed_is_not_used_again(stub: HttpStub) -> None:
    transport = HttpTransport()
    stub.on("GET", "/", Raw((b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",), close="clean"))
    for connection in (1, 2, 3):
        assert await ask(transport, stub) == connection
        for _ in range(50):
            await anyio.lowlevel.checkpoint()


async def test_plain_http_reads_no_certificates(stub: HttpStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_settings, "_system_tls", None)
    assert await ask(HttpTransport(), stub) == 1


async def test_connections_of_a_pool_serve_many_at_once_and_are_used_again(stub: HttpStub) -> None:
    transport = HttpTransport(connections=4)
    async with anyio.create_task_group() as group:
        for _ in range(40):
            group.start_soon(ask, transport, stub)
    assert len(stub.requests) == 40
    assert stub.connections <= 4


async def test_closing_the_transport_closes_its_connections_and_it_can_be_used_again(stub: HttpStub) -> None:
    held = Raw((b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",), close="hold")
    stub.on("GET", "/", held, Reply(body=b"here"))
    transport = HttpTransport()
    async with transport.stream("GET", stub.url, configured=(stub.url,), **ASKED) as response:
        await transport.aclose()
        with pytest.raises(RequestFailed):
            await response.aread()
    with anyio.fail_after(1):
        await stub.requests[0].closed_early()
    assert await ask(transport, stub) == 2


async def test_closing_a_client_leaves_the_connections_of_others(stub: HttpStub) -> None:
    transport = HttpTransport()
    for _ in range(2):
        async with transport.client(Scope(tenant="acme"), purpose="tool", configured=(stub.url,)) as client:
            await client.get(stub.url)
    assert stub.connections == 1


async def test_a_transport_that_nobody_holds_takes_its_connections_along(stub: HttpStub) -> None:
    def there() -> list[object]:
        gc.collect()
        return [pool for pool in gc.get_objects() if isinstance(pool, pools.SharedPool)]

    transport = HttpTransport()
    await ask(transport, stub)
    assert len(there()) == 1
    del transport
    assert there() == []


@pytest.mark.parametrize(
    "settings",
    [{"max_pools": 0}, {"connections": 0}, {"keepalive": -1}, {"keepalive_seconds": -1.0}],
    ids=str,
)
def test_a_setting_out_of_its_bounds_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        HttpTransport(**settings)


async def test_a_cap_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="None for no cap"):
        await HttpTransport().request("GET", "https://example.com", max_response_bytes=-1, **ASKED)


async def test_a_keyword_that_nobody_knows_is_refused() -> None:
    options: dict[str, Any] = {**ASKED, "max_bytes": 1}
    with pytest.raises(TypeError, match="max_bytes"):
        await HttpTransport().request("GET", "https://example.com", **options)


async def test_what_is_configured_has_to_be_a_url() -> None:
    with pytest.raises(ValueError, match="configured="):
        await HttpTransport().request("GET", "https://example.com", configured=("example.com",), **ASKED)

"""One proxy for all tests, a provider of ours behind it, and stores to drive Runs on."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from psych_runtime import OpenAICompatibleClient, Store, open_store
from psych_runtime.testing.http_stub import HttpStub, Reply
from tests.chaos import proxy
from tests.chaos.stage import Provider, client_of


@pytest.fixture(scope="session")
async def stub() -> AsyncGenerator[HttpStub]:
    """What the proxy takes for the provider. Of the session, as the proxy is, so all share one event loop."""
    async with HttpStub() as stub:
        # The proxy asks by itself now and then.
        stub.on("GET", "/v1/models", Reply(json={"object": "list", "data": []}))
        yield stub


@pytest.fixture(scope="session")
async def proxy_url(stub: HttpStub, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str]:
    folder = tmp_path_factory.mktemp("proxy")
    with proxy.started(folder, stub.url) as (url, warden):
        await proxy.ready(url, warden, folder / "proxy.log")
        yield url


@pytest.fixture
def provider(stub: HttpStub) -> Provider:
    """The provider behind the proxy, as one test sees it."""
    return Provider(stub)


@pytest.fixture
async def client(proxy_url: str) -> AsyncGenerator[OpenAICompatibleClient]:
    async with client_of(proxy_url) as client:
        yield client


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    """An empty store in real time."""
    url = f"sqlite:///{tmp_path / 'psych.db'}" if request.param == "sqlite" else "memory:"
    async with open_store(url, migrate=True) as store:
        yield store

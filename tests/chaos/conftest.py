"""One proxy for all tests, a provider of ours behind it, and stores to drive Runs on."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from psych_runtime import OpenAICompatibleClient, Store, open_store
from psych_runtime.testing.http_stub import HttpStub
from tests.chaos import proxy
from tests.chaos.stage import Provider


@pytest.fixture(scope="session")
async def stub() -> AsyncGenerator[HttpStub]:
    """What the proxy takes for the provider. Of the session, as the proxy is, so all share one event loop."""
    async with HttpStub() as stub:
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
    client = OpenAICompatibleClient(base_url=f"{proxy_url}/v1", api_key=proxy.KEY)
    yield client
    await client.transport.aclose()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    """An empty store in real time."""
    url = f"sqlite:///{tmp_path / 'psych.db'}" if request.param == "sqlite" else "memory:"
    async with open_store(url, migrate=True) as store:
        yield store

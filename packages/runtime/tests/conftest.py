"""The server that whatever goes out over HTTP is tried on."""

from collections.abc import AsyncGenerator

import pytest

from psych_runtime.testing.http_stub import HttpStub


@pytest.fixture
async def stub() -> AsyncGenerator[HttpStub]:
    """A server that has no reply yet; a module whose tests share theirs has a `stub` on top of this one."""
    async with HttpStub() as serving:
        yield serving

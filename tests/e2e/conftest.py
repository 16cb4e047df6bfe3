"""The stores that whole Runs are driven on: each kind, and one on which somebody else always writes first."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from psych_runtime import InMemoryStore, Store, open_store
from psych_runtime.testing import ConflictingStore, VirtualClock


@pytest.fixture(params=["memory", "sqlite", "conflicting"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    """An empty store in real time."""
    url = f"sqlite:///{tmp_path / 'psych.db'}" if request.param == "sqlite" else "memory:"
    async with open_store(url, migrate=True) as store:
        yield ConflictingStore(store) if request.param == "conflicting" else store


@pytest.fixture(params=["memory", "conflicting"])
def virtual_store(request: pytest.FixtureRequest) -> Store:
    """An empty store in virtual time."""
    store = InMemoryStore(clock=VirtualClock())
    return ConflictingStore(store) if request.param == "conflicting" else store

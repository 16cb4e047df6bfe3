"""A file and a store on it, in time that is moved."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from psych_runtime.testing.clock import FakeClock
from psych_runtime_sqlite import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is, or will be."""
    return tmp_path / "psych.db"


@pytest.fixture
def clock() -> FakeClock:
    """The clock of the store."""
    return FakeClock()


@pytest.fixture
async def store(path: Path, clock: FakeClock) -> AsyncGenerator[SQLiteStore]:
    """A store without data."""
    async with SQLiteStore(path, clock=clock) as store:
        await store.migrate()
        yield store

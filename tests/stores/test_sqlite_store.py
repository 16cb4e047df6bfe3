"""The SQLite store does what every store does."""

from collections.abc import AsyncGenerator
from itertools import count
from pathlib import Path

import pytest

from psych_runtime_core.ports.store import Store
from psych_runtime_sqlite import SQLiteStore
from tests.stores.suite import OpenStore, StoreSuite
from tests.stores.suite.clock import ManualClock


class TestSQLiteStore(StoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        names = count()
        return lambda clock: SQLiteStore(tmp_path / f"{next(names)}.db", clock=clock)

    @pytest.fixture
    async def another(self, store: Store, tmp_path: Path, clock: ManualClock) -> AsyncGenerator[Store]:
        async with SQLiteStore(tmp_path / "0.db", clock=clock) as another:
            yield another

"""The in-memory store does what every store does."""

import pytest

from psych_runtime_memory import InMemoryStore
from tests.stores.suite import OpenStore, StoreSuite


class TestInMemoryStore(StoreSuite):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        return lambda clock: InMemoryStore(clock=clock)

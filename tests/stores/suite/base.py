"""What every group of store tests stands on."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import pytest

from psych_runtime_core.clock import Clock
from psych_runtime_core.ports.store import Store
from tests.stores.suite.clock import ManualClock


class ClosingStore(Store, AbstractAsyncContextManager["ClosingStore"], Protocol):
    """A store that `async with` closes."""


OpenStore = Callable[[Clock], ClosingStore]


class StoreBase:
    """A class for one store overrides `open_store`: each call of what it gives opens one without data."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    async def store(self, open_store: OpenStore, clock: ManualClock) -> AsyncGenerator[Store]:
        async with open_store(clock) as store:
            await store.migrate()
            yield store

    @pytest.fixture
    def another(self, store: Store) -> Store:
        """A second handle on the same data, where there can be one."""
        return store

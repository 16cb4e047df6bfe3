"""What every group of store tests stands on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

import pytest

from psych_runtime_contract.plugin import require
from psych_runtime_contract.store.caps import Caps
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ports.kv import KeyValue
from psych_runtime_core.ports.live import LiveChannel
from psych_runtime_core.ports.store import Store


@pytest.mark.anyio
class StoreBase:
    """A class for one store says its `caps`, and has a fixture `store` that gives one without data.

    Where the store asks its `clock`, give it a `psych_runtime.testing.clock.FakeClock`: time is then moved
    instead of waited for.
    """

    caps: ClassVar[Caps] = Caps()

    def another(self, store: Store) -> AbstractAsyncContextManager[Store]:
        """A second handle on the data of `store`, which may be closed."""
        del store
        pytest.fail("override another(store), or say Caps(handles=False, durable=False)")

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop there is."""
        return "asyncio"

    @pytest.fixture
    async def second(self, store: Store) -> AsyncGenerator[Store]:
        """Another handle; the same one, where there is no other."""
        if not self.caps.handles:
            yield store
            return
        async with self.another(store) as second:
            yield second

    @pytest.fixture
    def time(self, store: Store) -> StoreTime:
        """The store's time."""
        return StoreTime(store.clock)

    @pytest.fixture
    def kv(self, store: Store) -> KeyValue:
        """Its small values."""
        require(self, "caps.kv")
        assert store.kv is not None, "store.kv is None; where that is so, say Caps(kv=False)"
        return store.kv

    @pytest.fixture
    def live(self, store: Store) -> LiveChannel:
        """Its live text."""
        require(self, "caps.live")
        return store.live

"""The in-memory store does what every store does."""

from collections.abc import AsyncGenerator

import pytest

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store import Caps, StoreContract
from psych_runtime_contract.store.schedules import EVERY_SCHEDULE
from psych_runtime_core.ports.store import Store
from psych_runtime_memory import InMemoryStore


class TestInMemoryStore(StoreContract):
    caps = Caps(durable=False, handles=False)
    schedules = EVERY_SCHEDULE

    @pytest.fixture
    async def store(self) -> AsyncGenerator[Store]:
        async with InMemoryStore(clock=FakeClock()) as store:
            yield store

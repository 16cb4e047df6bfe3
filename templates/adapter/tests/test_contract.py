"""The store is judged by every rule of the port, less what `caps` says that it does without."""

from collections.abc import AsyncGenerator

import pytest
from psych_runtime import InMemoryStore, Store
from psych_runtime.testing import FakeClock
from psych_runtime_contract.store import Caps, StoreContract

from psychproject import PsychProjectStore


class TestPsychProjectStore(StoreContract):
    caps = Caps(push=False, durable=False, handles=False, kv=False, live=False)

    @pytest.fixture
    async def store(self) -> AsyncGenerator[Store]:
        """One without data, in time that is moved instead of waited for."""
        self.kept = InMemoryStore(clock=FakeClock())
        async with PsychProjectStore(self.kept) as store:
            yield store

    def read_only(self, store: Store) -> PsychProjectStore:
        return PsychProjectStore(self.kept, read_only=True)

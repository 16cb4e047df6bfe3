"""A store that cannot push is watched by asking it."""

from collections.abc import AsyncGenerator, Collection
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import pytest

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store import Caps
from psych_runtime_contract.store.changes import StoreChanges, hint
from psych_runtime_contract.store.scenes import RUN, admit, append
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import PollingWatch, Watch
from psych_runtime_memory import InMemoryStore


class SilentStore(InMemoryStore):
    """The in-memory store as if it had no wake-ups."""

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return PollingWatch(self, run_ids, ready=ready)


class TestPollingWatch(StoreChanges):
    caps = Caps(push=False, durable=False, handles=False)

    @pytest.fixture
    async def store(self) -> AsyncGenerator[Store]:
        async with SilentStore(clock=FakeClock()) as store:
            yield store

    async def test_ready_work_is_hinted_at_each_poll(self, store: Store, time: StoreTime) -> None:
        async with store.changes(ready=True) as watch:
            for _ in range(3):
                before = time.now()
                assert (await hint(watch, time)).ready
                assert time.now() - before >= timedelta(seconds=0.5)

    async def test_a_change_is_told_though_ready_work_is_asked_for(
        self, store: Store, time: StoreTime
    ) -> None:
        await admit(store)
        async with store.changes([RUN], ready=True) as watch:
            await append(store)
            assert RUN in (await hint(watch, time)).runs

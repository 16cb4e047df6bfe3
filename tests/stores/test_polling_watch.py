"""A store that cannot push is watched by asking it."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager

import pytest

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import PollingWatch, Watch
from psych_runtime_memory import InMemoryStore
from tests.stores.suite.base import OpenStore
from tests.stores.suite.changes import StoreChanges, hint
from tests.stores.suite.clock import ManualClock
from tests.stores.suite.scenes import RUN, admit, append


class SilentStore(InMemoryStore):
    """The in-memory store as if it had no wake-ups."""

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return PollingWatch(self, run_ids, ready=ready)


class TestPollingWatch(StoreChanges):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        return lambda clock: SilentStore(clock=clock)

    async def test_ready_work_is_hinted_at_each_poll(self, store: Store, clock: ManualClock) -> None:
        async with store.changes(ready=True) as watch:
            for _ in range(3):
                before = clock.monotonic()
                assert (await hint(watch, clock)).ready
                assert clock.monotonic() - before >= 0.5

    async def test_a_change_is_told_though_ready_work_is_asked_for(
        self, store: Store, clock: ManualClock
    ) -> None:
        await admit(store)
        async with store.changes([RUN], ready=True) as watch:
            await append(store)
            assert RUN in (await hint(watch, clock)).runs

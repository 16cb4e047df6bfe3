"""A Run that begins in a transaction of the caller's: it stands or falls with the caller's own rows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import pytest

from psych_runtime_contract.plugin import require
from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.calls import CALLS, Scene, had_by, set_scene
from psych_runtime_contract.store.changes import hint
from psych_runtime_contract.store.scenes import OTHER_REQUEST, OTHER_RUN, RUN, admission, claimed_ids
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import IdempotencyConflict, RunNotFound, StoreError
from psych_runtime_core.ports.store import Store

KEY = "order-17"
BEGINNING = {"admit", "get_run", "read", "get_version", "put_version"}
"""Admission, and what dispatch asks beside it."""

FIRST = pytest.mark.parametrize("first", ["the row", "the Run"])
"""What the transaction begins with: a Run may be its first statement."""


class Transaction(Protocol):
    """A transaction of the caller's, in a database where the caller has rows of its own."""

    @property
    def store(self) -> Store:
        """The store within it."""
        ...

    async def write(self, row: str) -> None:
        """Write a row of the caller's."""
        ...

    async def rows(self) -> Sequence[str]:
        """The caller's rows that others see."""
        ...

    async def commit(self) -> None:
        """The next statement begins another transaction."""
        ...

    async def roll_back(self) -> None:
        """The next statement begins another transaction."""
        ...


class StoreTransactions(StoreBase):
    """`within`."""

    def joined(self, store: Store) -> AbstractAsyncContextManager[Transaction]:
        """A transaction in the database of `store`, where the caller has no rows yet."""
        del store
        pytest.fail("override joined(store), or say Caps(transactions=False)")

    @pytest.fixture
    async def caller(self, store: Store) -> AsyncGenerator[Transaction]:
        """Who has a transaction."""
        require(self, "caps.transactions")
        async with self.joined(store) as transaction:
            yield transaction

    async def begins(self, caller: Transaction, first: str, **also: Any) -> None:
        """A Run and a row of the caller's are written in one transaction."""
        if first == "the row":
            await caller.write("17")
        assert await begin(caller.store, **also) == RUN
        if first == "the Run":
            await caller.write("17")

    @FIRST
    async def test_a_run_and_a_row_stand_together(
        self, store: Store, caller: Transaction, time: StoreTime, first: str
    ) -> None:
        await self.begins(caller, first)
        assert (await caller.store.get_run(RUN)).run_id == RUN
        await self.nothing_is_there(store, caller)
        async with store.changes([RUN], ready=True) as watch:
            await caller.commit()
            told = await hint(watch, time)
            assert told.ready or told.runs == {RUN}
        assert list(await caller.rows()) == ["17"]
        assert await claimed_ids(store) == [RUN]
        assert [entry.body for entry in await store.read(RUN)] == [b"admitted"]

    @FIRST
    async def test_a_run_and_a_row_fall_together(self, store: Store, caller: Transaction, first: str) -> None:
        await self.begins(caller, first, idempotency_key=KEY)
        await caller.roll_back()
        await self.nothing_is_there(store, caller)
        assert await begin(store, OTHER_RUN, idempotency_key=KEY, request=OTHER_REQUEST) == OTHER_RUN

    async def nothing_is_there(self, store: Store, caller: Transaction) -> None:
        """Neither Run nor row is seen."""
        with pytest.raises(RunNotFound):
            await store.get_run(RUN)
        assert list(await caller.rows()) == []

    async def test_an_admission_that_is_refused_costs_the_caller_nothing(
        self, store: Store, caller: Transaction
    ) -> None:
        await begin(store, idempotency_key=KEY)
        await caller.write("before")
        with pytest.raises(IdempotencyConflict):
            await begin(caller.store, OTHER_RUN, idempotency_key=KEY, request=OTHER_REQUEST)
        assert await begin(caller.store, OTHER_RUN, idempotency_key=KEY) == RUN
        await caller.write("after")
        await caller.commit()
        assert list(await caller.rows()) == ["before", "after"]
        with pytest.raises(RunNotFound):
            await store.get_run(OTHER_RUN)

    async def test_what_dispatch_asks_is_answered(self, store: Store, caller: Transaction) -> None:
        scene = await set_scene(store)
        stored = await store.put_version(scene.version)
        await self.begins(caller, "the row")
        assert await caller.store.put_version(scene.version) == stored
        assert await caller.store.get_version(stored.hash) == stored
        assert [entry.body for entry in await caller.store.read(RUN)] == [b"admitted"]

    async def test_nothing_but_admission_is_done(self, store: Store, caller: Transaction) -> None:
        scene = await set_scene(store)
        await self.begins(caller, "the Run")
        assert caller.store.kv is None
        for name in had_by(caller.store, CALLS).keys() - BEGINNING:
            await self.is_refused(caller, scene, name)
        with pytest.raises(StoreError):
            async with caller.store.changes([RUN]):
                pass
        await caller.commit()
        assert list(await caller.rows()) == ["17"]
        assert (await store.get_run(RUN)).run_id == RUN

    async def is_refused(self, caller: Transaction, scene: Scene, name: str) -> None:
        """A call says that it is no admission."""
        with pytest.raises(StoreError) as caught:
            await CALLS[name](caller.store, scene)
        assert type(caught.value) is StoreError, f"{name}: {caught.value}"


async def begin(store: Store, run_id: str = RUN, **also: Any) -> str:
    """The Run that stands when one is to begin."""
    write = admission(run_id, **also)
    return await store.admit(write.header, write.entries)

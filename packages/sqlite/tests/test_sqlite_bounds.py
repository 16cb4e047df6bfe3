"""Every call ends within its bound, and says whether anything was written."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, admission, admit
from psych_runtime_core.errors import RunNotFound, StoreUnavailable
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_sql.runs import Runs
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.connection import SQLiteDriver

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(tmp_path / "psych.db") as store:
        await store.migrate()
    async with SQLiteStore(tmp_path / "psych.db", operation_seconds=0.2, readers=1) as store:
        yield store


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_call_may_take_some_time(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(ValueError, match="operation_seconds is over 0"):
        SQLiteStore(tmp_path / "psych.db", operation_seconds=seconds)


async def test_what_has_not_begun_in_time_is_never_done(store: SQLiteStore, tmp_path: Path) -> None:
    holder = sqlite3.connect(tmp_path / "psych.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match=r"longer than 0\.2 s") as caught:
        await admit(store)
    assert (caught.value.operation, caught.value.outcome) == ("admit", "none")
    holder.close()
    await admit(store, OTHER_RUN)
    with pytest.raises(RunNotFound):
        await store.get_run(RUN)


async def test_what_has_begun_is_of_unknown_outcome_and_may_be_repeated(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    commit = Runs.commit

    async def held(self: Runs, *arguments: Any) -> Any:
        go_on.wait(10)
        return await commit(self, *arguments)

    monkeypatch.setattr(Runs, "commit", held)
    write = admission()
    with pytest.raises(StoreUnavailable) as caught:
        await store.admit(write.header, write.entries)
    assert caught.value.outcome == "unknown"
    go_on.set()
    assert await store.admit(write.header, write.entries) == RUN
    assert len(await store.read(RUN)) == 1


async def test_a_statement_does_not_outlive_its_caller(store: SQLiteStore) -> None:
    access = store._access  # pyright: ignore[reportPrivateUsage] - no method of a store runs for ever

    async def endless(driver: SQLiteDriver) -> object:
        return await driver.fetch(ENDLESS)

    with pytest.raises(StoreUnavailable) as caught:
        await access.read("count", endless)
    assert (caught.value.operation, caught.value.outcome) == ("count", "none")
    cancelled = asyncio.create_task(access.read("count", endless))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    # The only reader is free again.
    assert (await store.stats()).ready == 0


async def test_a_purge_ends_within_its_bound(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psych_runtime_sqlite.store.SWEEPING_SECONDS", 0)
    with pytest.raises(StoreUnavailable, match="purge") as caught:
        await store.purge(RunQuery(tenant="acme"))
    assert caught.value.outcome == "unknown"

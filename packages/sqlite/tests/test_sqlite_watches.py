"""Hints between processes, and what they cost."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from time import monotonic

import pytest

from packages.sqlite.tests.sqlite_processes import children
from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, WORKER, admit, append
from psych_runtime_core.clock import SystemClock
from psych_runtime_core.ports.watch import Hint
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.connection import _HELD  # pyright: ignore[reportPrivateUsage] - losing one is an accident
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.watches import HERD_SECONDS


@pytest.fixture
async def store(path: Path, polls: Counter[str]) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(path) as store:
        await store.migrate()
        await admit(store)
        yield store


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often readers ran which statement."""
    polls: Counter[str] = Counter()
    connect = Database.connect_reader

    def traced(self: Database) -> sqlite3.Connection:
        connection = connect(self)
        connection.set_trace_callback(lambda sql: polls.update([sql]))
        return connection

    monkeypatch.setattr(Database, "connect_reader", traced)
    return polls


async def test_an_append_of_another_process_wakes_a_reader(store: SQLiteStore, path: Path) -> None:
    with children(("append_many", path, RUN, 1)) as (writer,):
        assert writer.line() == "ready"
        async with store.changes([RUN]) as watch:
            writer.say("go")
            assert await watch.wait(20) == Hint(runs=frozenset({RUN}))
        assert writer.finish() == ["done"]


async def test_ready_work_of_another_process_wakes_a_worker(store: SQLiteStore, path: Path) -> None:
    await store.claim(WORKER)
    with children(("start", path, "other")) as (starter,):
        assert starter.line() == "ready"
        async with store.changes(ready=True) as watch:
            starter.say("go")
            assert await watch.wait(20) == Hint(ready=True)
        assert starter.finish() == ["0"]


async def test_ready_work_that_was_told_at_once_is_told_again_only_when_it_stays(store: SQLiteStore) -> None:
    await store.claim(WORKER)
    async with store.changes(ready=True) as watch:
        before = monotonic()
        await admit(store, OTHER_RUN)
        assert await watch.wait(20) == Hint(ready=True)
        assert await watch.wait(20) == Hint(ready=True)
        assert monotonic() - before >= HERD_SECONDS, "the file was looked at before, and it says the same"


async def test_every_append_of_another_handle_is_told_though_nobody_waits_at_that_moment(
    store: SQLiteStore, path: Path
) -> None:
    async with SQLiteStore(path) as other, store.changes([RUN]) as watch:
        for _ in range(5):
            await append(other)
            assert (await watch.wait(20)).runs == {RUN}


async def test_a_run_that_is_followed_late_is_told_of_once(store: SQLiteStore, path: Path) -> None:
    async with SQLiteStore(path) as other, store.changes() as watch:
        await admit(other, OTHER_RUN)
        watch.follow(OTHER_RUN)
        assert (await watch.wait(20)).runs == {OTHER_RUN}
        assert not await watch.wait(0.05)


async def test_the_file_is_asked_only_while_somebody_waits(
    store: SQLiteStore, path: Path, polls: Counter[str]
) -> None:
    poll = "PRAGMA data_version"
    await append(store)
    assert polls[poll] == 0
    async with store.changes([RUN]) as watch:
        entered = polls[poll]
        await store.get_run(RUN)
        assert polls[poll] == entered
        await watch.wait(0.1)
        assert polls[poll] > entered
        waited = polls[poll]
        await asyncio.gather(*(store.get_run(RUN) for _ in range(20)))
        assert polls[poll] <= waited + 1, "one may have been under way"
    left = polls[poll]
    await asyncio.gather(*(store.get_run(RUN) for _ in range(20)))
    assert polls[poll] <= left + 1


async def test_a_file_that_did_not_change_is_asked_nothing_else(
    store: SQLiteStore, polls: Counter[str]
) -> None:
    async with store.changes([RUN], ready=True) as watch:
        await watch.wait(0.05)
        polls.clear()
        assert not await watch.wait(0.1)
    assert polls.keys() == {"PRAGMA data_version"}


class RecordingClock(SystemClock):
    """The machine's clock, and how long was slept by it."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await super().sleep(seconds)


async def test_the_file_is_asked_less_often_for_a_worker_than_for_a_reader(path: Path) -> None:
    clock = RecordingClock()
    async with SQLiteStore(path, clock=clock) as store:
        await store.migrate()
        async with store.changes(ready=True) as worker:
            await worker.wait(0.06)
            assert set(clock.slept) == {0.06, 0.050}
            waiting = asyncio.create_task(worker.wait(0.2))
            async with store.changes([RUN]):
                clock.slept.clear()
                await waiting
            assert set(clock.slept) == {0.010}


async def test_a_connection_that_was_lost_hides_no_change(store: SQLiteStore, path: Path) -> None:
    async with SQLiteStore(path) as other, store.changes([RUN]) as watch:
        await append(other)
        assert await watch.wait(20)
        for held in tuple(_HELD):
            held.close()
        await append(other)
        assert (await watch.wait(20)).runs == {RUN}

"""Operations that wait together are committed together, and each keeps its own answer."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, WORKER, admission, admit, append, appending
from psych_runtime_core.errors import RunNotFound, SeqConflict, StoreFull, StoreUnavailable
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.jobs import Answer
from psych_runtime_sqlite.writer import Group, Writer


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(tmp_path / "psych.db") as store:
        await store.migrate()
        yield store


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the groups that are committed."""
    sizes: list[int] = []
    commit = Writer._commit  # pyright: ignore[reportPrivateUsage] - what is grouped shows nowhere else

    def counted(self: Writer, group: Group) -> list[Answer]:
        answers = commit(self, group)
        sizes.append(len(group))
        return answers

    monkeypatch.setattr(Writer, "_commit", counted)
    return sizes


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once the writer has met a lock that others hold: what it has gathered stays a group."""
    stuck = threading.Event()
    wait = Writer._still_waiting  # pyright: ignore[reportPrivateUsage] - that it waits shows nowhere else

    def seen(self: Writer, group: Group) -> list[Group]:
        stuck.set()
        return wait(self, group)

    monkeypatch.setattr(Writer, "_still_waiting", seen)
    return stuck


@contextmanager
def lock_of(tmp_path: Path) -> Generator[None]:
    """The write lock, as another process would hold it."""
    holder = sqlite3.connect(tmp_path / "psych.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.close()


async def begun(*tasks: asyncio.Task[object]) -> None:
    """Let tasks run until each waits for its thread."""
    for _ in range(3 * len(tasks)):
        await asyncio.sleep(0)


async def test_what_waits_is_committed_in_one_group(
    store: SQLiteStore, groups: list[int], stuck: threading.Event, tmp_path: Path
) -> None:
    headers = [await admit(store, f"run_{number}") for number in range(100)]
    groups.clear()
    with lock_of(tmp_path):
        first = asyncio.create_task(store.commit([appending(headers[0])]))
        await asyncio.to_thread(stuck.wait)
        others = [asyncio.create_task(store.commit([appending(header)])) for header in headers[1:]]
        await begun(*others)
    await asyncio.gather(first, *others)
    assert groups == [1, 64, 35], "a group has at most 64"


async def test_a_refused_operation_rolls_back_alone(
    store: SQLiteStore, groups: list[int], stuck: threading.Event, tmp_path: Path
) -> None:
    header, other = await admit(store), await admit(store, OTHER_RUN)
    moved = await append(store)
    groups.clear()
    with lock_of(tmp_path):
        first = asyncio.create_task(store.claim(WORKER))
        await asyncio.to_thread(stuck.wait)
        stale = asyncio.create_task(store.commit([appending(other, b"both"), appending(header, b"stale")]))
        absent = asyncio.create_task(store.append(RunId("none"), other.head, appending(other).entries))
        good = asyncio.create_task(store.commit([appending(moved, b"good")]))
        await begun(stale, absent, good)
    with pytest.raises(SeqConflict):
        await stale
    with pytest.raises(RunNotFound):
        await absent
    await first
    await good
    assert groups == [1, 3]
    assert [entry.body for entry in await store.read(RUN, 2)] == [b"good"]
    assert (await store.get_run(OTHER_RUN)).head == other.head


async def test_a_conflict_may_come_from_a_neighbour_of_the_same_group(
    store: SQLiteStore, tmp_path: Path
) -> None:
    header = await admit(store)
    with lock_of(tmp_path):
        racing = [
            asyncio.create_task(store.commit([appending(header, b"%d" % number)])) for number in range(5)
        ]
        await begun(*racing)
    answers = await asyncio.gather(*racing, return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["SeqConflict"] * 4 + ["tuple"]
    assert (await store.get_run(RUN)).head.seq == 2


async def test_what_a_cancelled_caller_asked_for_lands_with_its_neighbours(
    store: SQLiteStore, tmp_path: Path
) -> None:
    header, other = await admit(store), await admit(store, OTHER_RUN)
    with lock_of(tmp_path):
        cancelled = asyncio.create_task(store.commit([appending(header, b"cancelled")]))
        neighbour = asyncio.create_task(store.commit([appending(other, b"neighbour")]))
        await begun(cancelled, neighbour)
        cancelled.cancel()
        await begun(cancelled)
    await neighbour
    assert cancelled.cancelled()
    assert [entry.body for entry in await store.read(RUN, 1)] == [b"cancelled"]


async def test_a_lock_that_others_keep_is_waited_for_as_long_as_was_asked(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "psych.db", busy_seconds=0.05) as store:
        await store.migrate()
        header = await admit(store)
        with lock_of(tmp_path):
            for _ in range(2):
                with pytest.raises(StoreUnavailable) as caught:
                    await store.commit([appending(header)])
                assert (caught.value.operation, caught.value.outcome) == ("commit", "none")
            assert (await store.get_run(RUN)).head == header.head, "readers do not wait"
        await store.commit([appending(header)])


# --- no room ---------------------------------------------------------------------------------------------


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The most pages that the file may have, while there is one."""
    limit: list[int] = []
    connect = Database.connect_writer

    def limited(self: Database) -> sqlite3.Connection:
        connection = connect(self)
        for pages in limit:
            connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(Database, "connect_writer", limited)
    return limit


async def filled(store: SQLiteStore, run_id: str) -> tuple[RunHeader, StoreFull]:
    """A Run as it is when the file takes no more, and how that was said."""
    header = await store.get_run(RunId(run_id))
    while True:
        try:
            (head,) = await store.commit([appending(header, bytes(50_000))])
        except StoreFull as error:
            return header, error
        header = header.model_copy(update={"head": head})


async def test_a_full_disk_is_typed_keeps_what_was_acknowledged_and_passes(
    tmp_path: Path, limit: list[int]
) -> None:
    limit.append(256)
    async with SQLiteStore(tmp_path / "psych.db") as store:
        await store.migrate()
        await admit(store)
        header, error = await filled(store, RUN)
        assert error.outcome == "none"
        assert (await store.get_run(RUN)).head == header.head
        await append(store, RUN, b"small")
        limit.clear()
        with pytest.raises(StoreFull):
            await append(store, RUN, bytes(1_000_000))
        for number in range(10):
            await append(store, RUN, bytes(100_000) + b"%d" % number)


async def test_an_operation_without_room_does_not_fail_its_neighbours(
    tmp_path: Path, limit: list[int], stuck: threading.Event
) -> None:
    limit.append(256)
    async with SQLiteStore(tmp_path / "psych.db") as store:
        await store.migrate()
        header = await admit(store)
        with lock_of(tmp_path):
            first = asyncio.create_task(store.commit([appending(header, b"small")]))
            await asyncio.to_thread(stuck.wait)
            large = admission(OTHER_RUN, bodies=[bytes(2_000_000)])
            too_large = asyncio.create_task(store.admit(large.header, large.entries))
            fitting = admission("run_c")
            fits = asyncio.create_task(store.admit(fitting.header, fitting.entries))
            await begun(too_large, fits)
        await first
        assert await fits == "run_c"
        with pytest.raises(StoreFull):
            await too_large
        with pytest.raises(RunNotFound):
            await store.get_run(OTHER_RUN)

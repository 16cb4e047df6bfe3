"""Live text through a file: for followers of any process, within bounds, and never worth an error."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.scenes import (
    OTHER_RUN,
    RUN,
    SETTLE,
    admission,
    admit,
    claim,
    end,
    lapse,
    settle,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import StoreUnavailable
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LIVE_SECONDS, MAX_CHUNK_BYTES, MAX_LIVE_BYTES, LiveChunk
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_sql.live import LOOK_AGAIN_SECONDS
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.access import FileAccess
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.jobs import Work


@pytest.fixture
async def store(path: Path) -> AsyncGenerator[SQLiteStore]:
    async with SQLiteStore(path) as store:
        await store.migrate()
        yield store


@pytest.fixture
async def timed(path: Path) -> AsyncGenerator[SQLiteStore]:
    """A store whose time is moved."""
    async with SQLiteStore(path, clock=FakeClock()) as store:
        await store.migrate()
        yield store


def chunk(
    offset: int, text: str, call_seq: int = 1, *, epoch: int = 1, reasoning: bool = False, run: RunId = RUN
) -> LiveChunk:
    return LiveChunk(run, "main", call_seq, epoch, reasoning, offset, len(text), text.encode())


def rows(path: Path) -> int:
    """How many chunks the file holds."""
    connection = sqlite3.connect(path)
    try:
        count: int = connection.execute("SELECT count(*) FROM psych_live").fetchone()[0]
        return count
    finally:
        connection.close()


@contextmanager
def lock_of(path: Path) -> Generator[None]:
    """The write lock, as another process would hold it."""
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.close()


class Follower:
    """Somebody who reads along."""

    def __init__(self, store: SQLiteStore, run_id: RunId = RUN) -> None:
        self._store, self._run_id = store, run_id
        self.got: list[LiveChunk] = []
        self._news = asyncio.Event()

    async def __aenter__(self) -> "Follower":
        self.task = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *ended: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _read(self) -> None:
        async with self._store.live.follow(self._run_id) as chunks:
            async for each in chunks:
                self.got.append(each)
                self._news.set()

    async def gets(self, count: int) -> list[LiveChunk]:
        """The first so many chunks, once they have come."""
        async with asyncio.timeout(20):
            while len(self.got) < count:
                self._news.clear()
                await self._news.wait()
        return self.got[:count]

    async def reads(self, count: int) -> list[str]:
        """Their texts."""
        return [each.body.decode() for each in await self.gets(count)]


async def shown(store: SQLiteStore, count: int, run: RunId = RUN) -> list[LiveChunk]:
    """What a follower that comes now gets, when it is so many chunks."""
    async with Follower(store, run) as follower:
        return await follower.gets(count)


async def test_a_chunk_comes_back_as_it_was_published(store: SQLiteStore, path: Path) -> None:
    sent = [
        LiveChunk(RUN, "main/3", 2**40, 7, reasoning, offset, 2, body)
        for reasoning in (False, True)
        for offset, body in ((0, bytes(range(256))), (2, b""))
    ]
    await store.live.publish(sent)
    async with SQLiteStore(path) as other:
        assert await shown(other, 4) == sent


async def test_followers_in_two_handles_get_all_from_the_beginning_and_on(
    store: SQLiteStore, path: Path
) -> None:
    await store.live.publish([chunk(0, "a"), chunk(1, "b")])
    async with SQLiteStore(path) as other, Follower(store) as near, Follower(other) as far:
        for follower in (near, far):
            assert await follower.reads(2) == ["a", "b"]
        await store.live.publish([chunk(2, "c"), chunk(0, "other", run=OTHER_RUN)])
        await other.live.publish([chunk(3, "d")])
        for follower in (near, far):
            assert await follower.reads(4) == ["a", "b", "c", "d"]


class WaitingClock(FakeClock):
    """It tells when a follower waits."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waited_on = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == LOOK_AGAIN_SECONDS:
            self.is_waited_on.set()
        await super().sleep(seconds)


async def test_followers_in_the_process_are_told_without_asking_the_file(path: Path) -> None:
    clock = WaitingClock()
    async with SQLiteStore(path, clock=clock) as store:
        await store.migrate()
        async with Follower(store) as follower:
            await clock.is_waited_on.wait()
            # No time passes, so nobody asks.
            await store.live.publish([chunk(0, "a")])
            assert await follower.reads(1) == ["a"]


async def test_a_long_text_is_read_in_several_looks(store: SQLiteStore, path: Path) -> None:
    letters = [chr(ord("a") + number % 26) for number in range(200)]
    await store.live.publish([chunk(number, letter) for number, letter in enumerate(letters)])
    async with SQLiteStore(path) as other, Follower(other) as follower:
        assert await follower.reads(200) == letters


async def test_a_text_that_overlaps_is_shown_whole_and_stored_once(store: SQLiteStore, path: Path) -> None:
    await store.live.publish([chunk(0, "ab"), chunk(2, "cd"), chunk(4, "e")])
    async with Follower(store) as follower:
        await follower.reads(3)
        await store.live.publish([chunk(2, "cdefg")])
        assert await follower.reads(4) == ["ab", "cd", "e", "cdefg"]
    assert [each.body for each in await shown(store, 2)] == [b"ab", b"cdefg"]
    assert rows(path) == 2


async def test_a_worker_that_lost_its_lease_is_heard_no_more(timed: SQLiteStore, path: Path) -> None:
    await admit(timed)
    await lapse(timed, StoreTime(timed.clock))
    await timed.live.publish([chunk(0, "first ", epoch=1)])
    await claim(timed, "worker_b")
    await timed.live.publish([chunk(6, "late", epoch=1), chunk(0, "anew", 5, epoch=2)])
    await timed.live.publish([chunk(0, "later", 1, epoch=1)])
    assert [each.body for each in await shown(timed, 1)] == [b"anew"]
    assert rows(path) == 1
    assert timed.live.dropped == 2


async def test_nothing_is_left_of_a_run_that_ended(store: SQLiteStore, path: Path) -> None:
    await admit(store)
    lease = (await claim(store)).lease
    await store.live.publish([chunk(0, "a"), chunk(0, "b", run=OTHER_RUN)])
    await end(store, lease, SETTLE)
    assert rows(path) == 1
    await store.live.publish([chunk(0, "late")])
    assert rows(path) == 1
    assert store.live.dropped == 1


@pytest.mark.parametrize("how", ["purge", "erase"])
async def test_nothing_is_left_of_a_run_that_is_purged_or_erased(
    store: SQLiteStore, path: Path, how: str
) -> None:
    await admit(store)
    await settle(store)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO psych_live VALUES ('run_a', 1, 0, 0, '', 1, 1, 1, x'00', 0)")
    connection.close()
    assert rows(path) == 1
    await getattr(store, how)(RunQuery(run_ids=frozenset({RUN})))
    assert rows(path) == 0


async def test_what_nobody_cleared_goes_after_an_hour_a_little_at_each_publish(
    timed: SQLiteStore, path: Path
) -> None:
    time = StoreTime(timed.clock)
    await timed.live.publish([chunk(number, "x") for number in range(100)])
    await time.passes(LIVE_SECONDS / 2)
    await timed.live.publish([chunk(0, "y", 2)])
    await time.passes(LIVE_SECONDS / 2)
    assert [each.body for each in await shown(timed, 1)] == [b"y"]
    left: list[int] = []
    for offset in range(3):
        await timed.live.publish([chunk(offset, "z", run=OTHER_RUN)])
        left.append(rows(path))
    assert left == [101 - 64 + 1, 1 + 2, 1 + 3]


async def test_of_a_text_that_goes_on_for_hours_nothing_is_lost(timed: SQLiteStore, path: Path) -> None:
    time = StoreTime(timed.clock)
    await timed.live.publish([chunk(0, "x", run=OTHER_RUN)])
    for hour in range(3):
        await timed.live.publish([chunk(hour, "abc"[hour])])
        await time.passes(LIVE_SECONDS - 1)
    assert [each.body for each in await shown(timed, 3)] == [b"a", b"b", b"c"]
    assert rows(path) == 3


async def test_a_text_that_was_forgotten_may_begin_anew(timed: SQLiteStore, path: Path) -> None:
    await timed.live.publish([chunk(number, "x") for number in range(70)])
    await StoreTime(timed.clock).passes(LIVE_SECONDS)
    await timed.live.publish([chunk(0, "anew"), chunk(4, "!")])
    assert [each.body for each in await shown(timed, 2)] == [b"anew", b"!"]
    assert rows(path) == 2


async def test_eight_mebibytes_are_kept_of_a_run(store: SQLiteStore) -> None:
    full = MAX_LIVE_BYTES // MAX_CHUNK_BYTES
    large = [LiveChunk(RUN, "", 1, 1, False, number, 1, bytes(MAX_CHUNK_BYTES)) for number in range(full + 2)]
    await store.live.publish(large)
    assert store.live.dropped == 2
    await store.live.publish([chunk(0, "x", 2), chunk(0, "y", run=OTHER_RUN)])
    assert store.live.dropped == 3
    assert len(await shown(store, full)) == full
    await store.live.clear(RUN, 1)
    await store.live.publish([chunk(0, "x", 2)])
    assert [each.body for each in await shown(store, 1)] == [b"x"]


async def test_a_call_is_cleared_alone_or_with_its_run(store: SQLiteStore, path: Path) -> None:
    await store.live.publish([chunk(0, "a"), chunk(0, "b", reasoning=True), chunk(0, "c", 2)])
    await store.live.publish([chunk(0, "d", run=OTHER_RUN)])
    await store.live.clear(RUN, 1)
    assert rows(path) == 2
    await store.live.clear(RUN)
    assert rows(path) == 1


async def test_while_the_file_is_locked_text_is_dropped_and_counted(store: SQLiteStore, path: Path) -> None:
    async with SQLiteStore(path, busy_seconds=0) as hasty, Follower(store) as follower:
        await hasty.live.publish([chunk(0, "a")])
        with lock_of(path):
            await hasty.live.publish([chunk(1, "b"), chunk(2, "c")])
            await hasty.live.clear(RUN)
        await hasty.live.publish([chunk(3, "d")])
        await hasty.live.publish([chunk(0, "e", 2)])
        assert await follower.reads(2) == ["a", "e"]
        assert hasty.live.dropped == 3


async def test_a_store_that_is_closed_or_no_store_takes_no_text_and_raises_nothing(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "none.db")
    await store.live.publish([chunk(0, "a")])
    await store.live.clear(RUN)
    async with store.live.follow(RUN) as chunks:
        assert [each async for each in chunks] == []
    await store.close()
    await store.live.publish([chunk(0, "a"), chunk(1, "b")])
    assert store.live.dropped == 3
    with pytest.raises(ValueError, match="65536"):
        await store.live.publish([chunk(0, "x" * 65_537)])


async def test_who_follows_is_let_go_when_the_store_is_closed(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()
        await store.live.publish([chunk(0, "a")])
        follower = Follower(store)
        async with follower:
            await follower.reads(1)
            await store.close()
            async with asyncio.timeout(20):
                await follower.task


async def test_text_that_was_read_and_got_lost_is_read_again(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.live.publish([chunk(0, "a"), chunk(1, "b")])
    read = FileAccess.read
    lost: list[str] = []

    async def lossy(self: FileAccess, operation: str, work: Work[object]) -> object:
        answer = await read(self, operation, work)
        if not lost:
            lost.append(operation)
            raise StoreUnavailable(operation, "the answer was lost", "none")
        return answer

    monkeypatch.setattr(FileAccess, "read", lossy)
    monkeypatch.setattr("psych_runtime_sql.live.TRY_AGAIN_SECONDS", 0)
    async with Follower(store) as follower:
        assert await follower.reads(2) == ["a", "b"]
    assert lost == ["live.follow"]


POLL = "PRAGMA data_version"


class Questions:
    """What readers ask of a file."""

    def __init__(self) -> None:
        self._loop, self._polled = asyncio.get_running_loop(), asyncio.Event()
        self._asked: set[str] = set()

    def note(self, sql: str) -> None:
        """Called in a reader's thread."""
        self._asked.add(sql)
        if sql == POLL:
            self._loop.call_soon_threadsafe(self._polled.set)

    def forget(self) -> None:
        """What was asked so far."""
        self._asked = set()

    async def of_polls(self, count: int) -> set[str]:
        """What was asked since then, and while so many polls come, the first of which may be under way."""
        for _ in range(count):
            self._polled.clear()
            await self._polled.wait()
        return self._asked


@pytest.fixture
async def questions(monkeypatch: pytest.MonkeyPatch) -> Questions:
    questions, connect = Questions(), Database.connect_reader

    def traced(self: Database) -> sqlite3.Connection:
        connection = connect(self)
        connection.set_trace_callback(questions.note)
        return connection

    monkeypatch.setattr(Database, "connect_reader", traced)
    return questions


async def test_while_nothing_changes_the_file_is_asked_for_its_version_alone(
    questions: Questions, store: SQLiteStore
) -> None:
    await store.live.publish([chunk(0, "a")])
    async with Follower(store) as follower:
        assert await follower.reads(1) == ["a"]
        await questions.of_polls(20)
        questions.forget()
        assert await questions.of_polls(2) == {POLL}


async def test_a_change_that_is_no_text_lets_nobody_read(
    questions: Questions, store: SQLiteStore, path: Path
) -> None:
    async with SQLiteStore(path) as other, Follower(store) as follower:
        await other.live.publish([chunk(0, "a")])
        assert await follower.reads(1) == ["a"]
        await questions.of_polls(20)
        questions.forget()
        write = admission()
        await other.admit(write.header, write.entries)
        asked = await questions.of_polls(20)
        assert any("psych_live" in sql for sql in asked)
        assert "BEGIN" not in "".join(asked)

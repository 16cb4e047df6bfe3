"""Blobs in a file: beside the Runs at work, whole or not at all, and a piece at a time."""

import asyncio
import sqlite3
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from packages.sqlite.tests.other_code import asked
from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.scenes import admission, admit_all, append
from psych_runtime_core.errors import BlobCorrupt, StoreError, StoreUnavailable
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.blob import CHUNK_BYTES, BlobKey
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import Lease
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.access import FileAccess
from psych_runtime_sqlite.jobs import Answer, Work
from psych_runtime_sqlite.writer import Group, Writer

KEY = BlobKey("acme", RunId("run_a"), "call_a.1")
NOBODY = RunQuery(tenant="nobody")
DAY = 86_400
MEBIBYTE = 1024 * 1024
OLD = b"old " * 200_000
"""Four chunks."""


async def put(store: SQLiteStore, content: bytes | AsyncIterator[bytes], key: BlobKey = KEY) -> None:
    await store.blobs.put(key, content, content_type="text/plain")


async def flow(count: int, piece: bytes = b"new " * 50_000) -> AsyncGenerator[bytes]:
    """Content that comes in pieces."""
    for _ in range(count):
        yield piece


NEW = b"new " * 500_000
"""Ten of them: eight chunks, stored in two commits."""


def chunks(path: Path) -> int:
    return asked(path, "SELECT count(*) FROM psych_blob_chunk")


def marks(path: Path) -> int:
    return asked(path, "SELECT count(*) FROM psych_mark")


def change(path: Path, sql: str) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(sql)
    connection.close()


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The operations of each commit."""
    commits: list[list[str]] = []
    commit = Writer._commit  # pyright: ignore[reportPrivateUsage] - what is committed shows nowhere else

    def noted(self: Writer, group: Group) -> list[Answer]:
        commits.append([job.operation for job in group])
        return commit(self, group)

    monkeypatch.setattr(Writer, "_commit", noted)
    return commits


# --- beside the Runs at work


async def test_a_put_that_trickles_costs_no_worker_its_lease(
    store: SQLiteStore, path: Path, clock: FakeClock
) -> None:
    workers = [WorkerId(f"worker_{number}") for number in range(4)]
    await admit_all(store, *(admission(f"run_{worker}") for worker in workers))
    async with SQLiteStore(path, clock=clock, busy_seconds=0.5) as fleet:
        claims = [await fleet.claim(worker, lease_seconds=3) for worker in workers]
        leases = [claim.claims[0].lease for claim in claims]

        async def content() -> AsyncGenerator[bytes]:
            for _ in range(60):
                yield bytes(100_000)
                await clock.advance(1)
                leases[:] = await kept(fleet, leases)

        await put(store, content())
        assert len(await store.blobs.get(KEY)) == 6_000_000


async def kept(store: SQLiteStore, leases: list[Lease]) -> list[Lease]:
    """The same leases, renewed; each holder has written something."""
    for lease in leases:
        await append(store, lease.run_id, lease=lease)
    renewed = await store.renew(leases, lease_seconds=3)
    assert [each.outcome for each in renewed] == ["kept"] * len(leases)
    return [each.lease for each in renewed]


async def test_content_is_stored_half_a_mebibyte_at_a_time(
    store: SQLiteStore, commits: list[list[str]]
) -> None:
    await put(store, bytes(MEBIBYTE // 2))
    assert commits == [["blobs.put"]]
    commits.clear()
    await put(store, flow(40, bytes(MEBIBYTE // 4)), BlobKey("acme", RunId("run_a"), "call_b.1"))
    assert commits == [["blobs.put"]] * 20


async def test_content_goes_half_a_mebibyte_at_a_time(
    store: SQLiteStore, path: Path, commits: list[list[str]]
) -> None:
    await put(store, bytes(2 * MEBIBYTE))
    commits.clear()
    await store.blobs.delete(KEY)
    assert commits == [["blobs.delete"]] * 5
    assert chunks(path) == 0


async def test_many_puts_at_once_are_not_one_commit(store: SQLiteStore, commits: list[list[str]]) -> None:
    keys = [BlobKey("acme", RunId("run_a"), f"call_{number}.1") for number in range(40)]
    await asyncio.gather(*(put(store, bytes(MEBIBYTE), key) for key in keys))
    assert max(map(len, commits)) <= 32


async def test_large_content_comes_and_goes_in_flat_memory(store: SQLiteStore, path: Path) -> None:
    piece = bytes(100_000)
    tracemalloc.start()
    try:
        await put(store, flow(200, piece))
        size = 0
        async for part in store.blobs.open(KEY):
            size += len(part)
        await store.blobs.delete(KEY)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size == 20_000_000
    assert peak < 8_000_000
    assert (chunks(path), marks(path)) == (0, 0)


# --- whole or not at all


class Cut(BaseException):
    """The process ends here."""


@dataclass
class Faults:
    """Something befalls a write."""

    at: int
    error: Callable[[], BaseException]
    before: bool
    writes: int = field(default=0, init=False)

    def strikes(self, *, before: bool) -> bool:
        return before == self.before and self.writes == self.at

    @contextmanager
    def befall(self) -> Generator[None]:
        """One write."""
        self.writes += 1
        if self.strikes(before=True):
            raise self.error()
        yield
        if self.strikes(before=False):
            raise self.error()


def lost() -> BaseException:
    return StoreUnavailable("blobs.put", "the answer was lost")


PUBLISHED, WRITES = 4, 6
"""Of `NEW` over `OLD`: three parts, the last one with the blob, and the old content goes in two."""


@pytest.fixture
async def befallen(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[Faults], None]:
    """A blob is there. From now on, writes are befallen."""
    await put(store, OLD)
    write = FileAccess.write

    def befall(faults: Faults) -> None:
        async def struck(
            self: FileAccess, operation: str, work: Work[Outcome[object]], size: int = 0
        ) -> object:
            with faults.befall():
                return await write(self, operation, work, size)

        monkeypatch.setattr(FileAccess, "write", struck)

    return befall


async def test_a_put_takes_so_many_writes(
    store: SQLiteStore, path: Path, befallen: Callable[[Faults], None]
) -> None:
    faults = Faults(0, Cut, before=True)
    befallen(faults)
    await put(store, flow(10))
    assert faults.writes == WRITES
    assert (await store.blobs.get(KEY), chunks(path), marks(path)) == (NEW, 8, 0)


@pytest.mark.parametrize("before", [True, False], ids=["before it", "after it"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
async def test_a_put_that_is_cut_leaves_the_old_or_the_new_blob_and_a_day_later_nothing_else(
    store: SQLiteStore,
    path: Path,
    clock: FakeClock,
    befallen: Callable[[Faults], None],
    at: int,
    before: bool,
) -> None:
    befallen(Faults(at, Cut, before=before))
    with pytest.raises(Cut):
        await put(store, flow(10))
    is_new = at > PUBLISHED or (at, before) == (PUBLISHED, False)
    assert await store.blobs.get(KEY) == (NEW if is_new else OLD)
    await store.purge(NOBODY)
    assert await store.blobs.get(KEY) == (NEW if is_new else OLD)
    await clock.advance(DAY)
    await store.purge(NOBODY)
    assert await store.blobs.get(KEY) == (NEW if is_new else OLD)
    assert (chunks(path), marks(path)) == (8 if is_new else 4, 0)


@pytest.mark.parametrize("before", [True, False], ids=["nothing was written", "it was written"])
@pytest.mark.parametrize("at", [1, PUBLISHED])
async def test_a_put_that_fails_takes_its_content_away_at_once(
    store: SQLiteStore, path: Path, befallen: Callable[[Faults], None], at: int, before: bool
) -> None:
    befallen(Faults(at, lost, before=before))
    with pytest.raises(StoreUnavailable):
        await put(store, flow(10))
    is_new = (at, before) == (PUBLISHED, False)
    assert await store.blobs.get(KEY) == (NEW if is_new else OLD)
    # Published, and nobody knows: what it replaced is left under its mark.
    assert (chunks(path), marks(path)) == (12, 1) if is_new else (4, 0)


async def test_a_put_whose_old_content_stays_for_now_has_succeeded(
    store: SQLiteStore, path: Path, clock: FakeClock, befallen: Callable[[Faults], None]
) -> None:
    befallen(Faults(PUBLISHED + 1, lost, before=True))
    await put(store, flow(10))
    assert (await store.blobs.get(KEY), chunks(path), marks(path)) == (NEW, 12, 1)
    await clock.advance(DAY)
    await store.purge(NOBODY)
    assert (await store.blobs.get(KEY), chunks(path), marks(path)) == (NEW, 8, 0)


async def test_content_that_fails_leaves_nothing(store: SQLiteStore, path: Path) -> None:
    await put(store, OLD)

    async def content() -> AsyncGenerator[bytes]:
        yield NEW
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await put(store, content())
    assert (await store.blobs.get(KEY), chunks(path), marks(path)) == (OLD, 4, 0)


async def test_a_put_that_is_cancelled_leaves_its_content_under_a_mark(
    store: SQLiteStore, path: Path, clock: FakeClock
) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    async def content() -> AsyncGenerator[bytes]:
        yield NEW
        reached.set()
        await never.wait()

    putting = asyncio.create_task(put(store, content()))
    await reached.wait()
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    assert (chunks(path), marks(path)) == (6, 1)
    await clock.advance(DAY)
    await store.purge(NOBODY)
    assert (chunks(path), marks(path)) == (0, 0)


async def test_content_that_halts_for_a_day_is_given_up(
    store: SQLiteStore, path: Path, clock: FakeClock
) -> None:
    async def content(pause_seconds: float) -> AsyncGenerator[bytes]:
        for _ in range(3):
            yield NEW
            await clock.advance(pause_seconds)
            await store.purge(NOBODY)

    await put(store, content(DAY - 1))
    assert await store.blobs.get(KEY) == NEW * 3
    with pytest.raises(StoreError, match=r"halt.* from the beginning") as caught:
        await put(store, content(DAY))
    assert not isinstance(caught.value, StoreUnavailable), "going on with it cannot succeed"
    assert await store.blobs.get(KEY) == NEW * 3
    assert (chunks(path), marks(path)) == (23, 0)


# --- for who reads


async def test_who_reads_what_is_replaced_gets_the_old_content_or_learns_of_it(store: SQLiteStore) -> None:
    await put(store, OLD)
    async with aclosing(opened(store)) as small:
        first = await anext(small)
        await put(store, flow(10))
        assert first + b"".join([piece async for piece in small]) == OLD
    async with aclosing(opened(store)) as large:
        assert await anext(large) == NEW[:CHUNK_BYTES]
        await put(store, OLD)
        with pytest.raises(BlobCorrupt, match="replaced"):
            assert NEW.startswith(b"".join([piece async for piece in large]))


async def opened(store: SQLiteStore) -> AsyncGenerator[bytes]:
    async for piece in store.blobs.open(KEY):
        yield piece


async def test_a_range_needs_no_chunk_but_its_own(store: SQLiteStore, path: Path) -> None:
    content = bytes(range(256)) * (8 * CHUNK_BYTES // 256)
    await put(store, content)
    change(path, "DELETE FROM psych_blob_chunk WHERE n NOT IN (2, 3)")
    start, end = 2 * CHUNK_BYTES, 4 * CHUNK_BYTES
    for offset, length in ((start, end - start), (start + 1, 7), (end - 1, 1), (3 * CHUNK_BYTES - 1, 2)):
        assert await store.blobs.get(KEY, offset=offset, length=length) == content[offset : offset + length]
    for offset, length in ((start - 1, 2), (end - 1, 2), (0, 1), (0, len(content))):
        with pytest.raises(BlobCorrupt):
            await store.blobs.get(KEY, offset=offset, length=length)
    assert await store.blobs.get(KEY, offset=len(content)) == b""


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(
            "UPDATE psych_blob_chunk SET body = zeroblob(262144) WHERE n = 5", id="a chunk is blank"
        ),
        pytest.param("UPDATE psych_blob_chunk SET n = 9 WHERE n = 1", id="a chunk is misplaced"),
        pytest.param("UPDATE psych_blob_chunk SET body = x'00' WHERE n = 6", id="a chunk is short"),
        pytest.param("DELETE FROM psych_blob_chunk WHERE n = 7", id="the last one is gone"),
    ],
)
async def test_damaged_content_is_told_of(store: SQLiteStore, path: Path, damage: str) -> None:
    await put(store, flow(10))
    change(path, damage)
    with pytest.raises(BlobCorrupt):
        await store.blobs.get(KEY)
    with pytest.raises(BlobCorrupt):
        async for _ in store.blobs.open(KEY, chunk=1_000_000):
            pass


async def test_another_handle_reads_lists_and_deletes(store: SQLiteStore, path: Path) -> None:
    await put(store, flow(10))
    async with SQLiteStore(path) as other:
        assert await other.blobs.get(KEY) == NEW
        assert (await other.blobs.list("acme")).items == ((KEY, await store.blobs.head(KEY)),)
        await other.blobs.delete(KEY)
    assert await store.blobs.head(KEY) is None


async def test_the_many_blobs_of_a_run_go_a_few_at_a_time(
    store: SQLiteStore, path: Path, commits: list[list[str]]
) -> None:
    keys = [BlobKey("acme", RunId("run_a"), f"call_{number:03}.1") for number in range(250)]
    await asyncio.gather(*(put(store, b"x", key) for key in keys))
    await put(store, b"y", BlobKey("acme", RunId("run_b"), "call_a.1"))
    await put(store, b"z", BlobKey("other", RunId("run_a"), "call_a.1"))
    commits.clear()
    assert await store.blobs.delete_run("acme", RunId("run_a")) == 250
    assert [key.tenant for key, _ in (await store.blobs.list(None)).items] == ["acme", "other"]
    assert (chunks(path), marks(path)) == (2, 0)
    # Each time, a hundred blobs and then their content; at last there is none.
    assert commits == [["blobs.delete_run"]] * 7


@pytest.mark.parametrize("cursor", ["", "acme", "acme/run_a", "other/run_a/call_a.1", "a/b/c/d"])
async def test_a_cursor_of_other_blobs_is_refused(store: SQLiteStore, cursor: str) -> None:
    with pytest.raises(ValueError, match="another list"):
        await store.blobs.list("acme", cursor=cursor)


async def test_a_store_that_only_reads_takes_no_blob(store: SQLiteStore, path: Path) -> None:
    await put(store, OLD)
    async with SQLiteStore(path, read_only=True) as reader:
        assert await reader.blobs.get(KEY) == OLD
        for call in (put(reader, NEW), reader.blobs.delete(KEY), reader.blobs.delete_run("acme", KEY.run_id)):
            with pytest.raises(StoreError, match="read-only"):
                await call
    assert await store.blobs.get(KEY) == OLD

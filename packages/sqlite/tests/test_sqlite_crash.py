"""What a store file is worth when its processes are killed, forked or out of room."""

import sqlite3
from pathlib import Path

import pytest

from packages.sqlite.tests.sqlite_children import PAIR_EVERY
from packages.sqlite.tests.sqlite_processes import Child, children
from psych_runtime_contract.store.scenes import OTHER_RUN, RUN, admit, append
from psych_runtime_core.records import GENESIS, Entry
from psych_runtime_core.records.entry import chain
from psych_runtime_sqlite import SQLiteStore

KILLED_AT = range(6)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A file with two Runs that nobody holds open."""
    path = tmp_path / "psych.db"
    async with SQLiteStore(path) as store:
        await store.migrate()
        await admit(store, RUN)
        await admit(store, OTHER_RUN)
    return path


async def logs(path: Path) -> tuple[list[bytes], list[bytes]]:
    """The bodies of both logs, which are gapless and chained, and end where their headers say."""
    bodies: list[list[bytes]] = []
    async with SQLiteStore(path, read_only=True) as store:
        for run_id in (RUN, OTHER_RUN):
            entries: tuple[Entry, ...] = await store.read(run_id, limit=10_000)
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            head = GENESIS
            for entry in entries:
                assert entry.digest == chain(head, entry.body)
                head = entry.head
            assert (await store.get_run(run_id)).head == head
            bodies.append([entry.body for entry in entries])
    return bodies[0], bodies[1]


def killed_at(child: Child, number: int) -> int:
    """Kill a writer that has begun its commit of `number`; how many it had acknowledged."""
    acknowledged = 0
    while (line := child.line()) != f"at {number}":
        acknowledged += line.startswith("done")
    return acknowledged + sum(line.startswith("done") for line in child.kill())


async def test_a_writer_killed_at_any_commit_leaves_whole_commits_and_all_it_acknowledged(
    path: Path,
) -> None:
    for number in KILLED_AT:
        with children(("write_forever", path, f"child{number}")) as (writer,):
            acknowledged = killed_at(writer, number)
        assert acknowledged >= number, "the point was hit"
        first, second = await logs(path)
        for each in range(acknowledged):
            assert b"child%d.%d" % (number, each) in first
        written = [int(body.partition(b".")[2]) for body in first if body.startswith(b"child%d." % number)]
        pairs = [b"child%d.%d" % (number, each) for each in written if each % PAIR_EVERY == 0]
        assert [body for body in second if body.startswith(b"child%d." % number)] == pairs
    async with SQLiteStore(path) as store:
        await append(store, RUN, b"and on")


async def test_processes_write_while_another_holds_the_lock(path: Path) -> None:
    writers = [("append_many", path, RUN, 200), ("append_many", path, OTHER_RUN, 200)]
    holder = sqlite3.connect(path, isolation_level=None)
    with children(*writers) as started:
        assert [child.line() for child in started] == ["ready", "ready"]
        holder.execute("BEGIN IMMEDIATE")
        for child in started:
            child.say("go")
        # A time in which both would have been done.
        assert all(child.is_silent(1.0) for child in started)
        assert holder.execute("SELECT sum(head_seq) FROM psych_work").fetchone() == (2,)
        holder.execute("ROLLBACK")
        holder.close()
        assert [child.finish() for child in started] == [["done"], ["done"]]
    first, second = await logs(path)
    assert len(first) == len(second) == 201


async def test_a_reader_with_a_snapshot_keeps_no_writer_waiting(path: Path) -> None:
    async with SQLiteStore(path) as store:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM psych_entry").fetchone() == (2,)
        for _ in range(50):
            await append(store, RUN, b"x" * 100_000)
        assert len(await store.read(RUN, limit=100)) == 51
        assert reader.execute("SELECT count(*) FROM psych_entry").fetchone() == (2,)
        reader.close()


async def test_the_wal_shrinks_when_a_reader_holds_it_back_no_more(path: Path) -> None:
    wal = path.with_name("psych.db-wal")
    async with SQLiteStore(path) as store:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM psych_entry").fetchone()
        for _ in range(25):
            await append(store, RUN, b"x" * 1_000_000)
        grown = wal.stat().st_size
        reader.close()
        for _ in range(12):
            await append(store, RUN, b"x" * 1_000_000)
        assert grown > 20_000_000 > wal.stat().st_size
    assert not wal.exists()


async def test_processes_that_come_and_go_leave_a_sound_file(path: Path) -> None:
    with children(*(("come_and_go", path, name, 4.0) for name in "abcd")) as started:
        written = [int(child.finish()[-1]) for child in started]
    assert all(written), "each of them wrote"
    reader = sqlite3.connect(path)
    assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert reader.execute("SELECT count(*) FROM psych_run").fetchone() == (2 + sum(written),)
    assert reader.execute("SELECT count(*) FROM psych_entry").fetchone() == (2 + 6 * sum(written),)
    reader.close()


async def test_both_sides_of_a_fork_go_on_and_lose_nothing(path: Path) -> None:
    with children(("fork", path)) as (forking,):
        assert forking.finish() == ["child 0"]
    first, second = await logs(path)
    assert first[1:] == [b"before", b"child 1", b"child 2", b"child 3"]
    assert second[1:] == [b"parent"]


@pytest.mark.parametrize(
    ("opened", "has_lock"),
    [
        pytest.param("never", True, id="by the store alone"),
        pytest.param("too", False, id="by other code, too"),
    ],
)
async def test_other_code_that_opens_and_closes_the_file_drops_the_locks_of_its_process(
    path: Path, opened: str, *, has_lock: bool
) -> None:
    wal = path.with_name("psych.db-wal")
    with children(("hold_open", path, opened)) as (holder,):
        assert holder.line() == "ready"
        with children(("append_many", path, OTHER_RUN, 1)) as (other,):
            other.say("go")
            assert other.finish() == ["ready", "done"]
        # The last that has a file open takes its WAL away: now the other believed that it was.
        assert wal.exists() == has_lock
        holder.say("end")
        assert holder.finish() == []


async def test_an_io_error_is_typed_and_passes(path: Path) -> None:
    with children(("fill_up", path)) as (filling,):
        lines = filling.finish()
    refused = lines[0].split()
    assert refused[:3] == ["refused", "StoreUnavailable", "unknown"]
    assert lines[1:] == ["done"]
    first, _ = await logs(path)
    assert len(first) == 2 + int(refused[3]), "what was refused is not there, what was acknowledged is"

"""How a store is made, opened, shared between loops, and closed."""

import asyncio
import gc
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from packages.sqlite.tests.sqlite_processes import children
from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.scenes import RUN, WORKER, admit, append, claim, rest, settle
from psych_runtime_core.errors import NotMigrated, RunNotFound, StoreError, StoreMisconfigured
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import PlainCodec
from psych_runtime_sqlite import SQLiteStore

NOBODY = 65_534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A migrated file that nobody holds open."""
    asyncio.run(migrate(tmp_path / "psych.db"))
    return tmp_path / "psych.db"


async def migrate(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("psych-sqlite")}


@pytest.mark.parametrize(
    ("path", "options"),
    [
        pytest.param(":memory:", {}, id="memory"),
        pytest.param("", {}, id="a temporary file"),
        pytest.param("file:psych.db?mode=ro", {}, id="a URI"),
        pytest.param("psych.db", {"synchronous": "off"}, id="less than normal"),
        pytest.param("psych.db", {"busy_seconds": -1}, id="no time"),
        pytest.param("psych.db", {"busy_seconds": float("nan")}, id="an unknown time"),
        pytest.param("psych.db", {"readers": 0}, id="no reader"),
    ],
)
def test_a_bad_option_is_refused_when_the_store_is_made(path: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not|no path"):
        SQLiteStore(path, **options)


def test_a_store_has_the_codec_and_the_clock_that_it_was_given(tmp_path: Path) -> None:
    codec, clock = PlainCodec(), FakeClock()
    store: Store = SQLiteStore(tmp_path / "psych.db", codec=codec, clock=clock)
    assert (store.codec, store.clock) == (codec, clock)


@pytest.mark.parametrize(("synchronous", "level"), [("full", 2), ("normal", 1)])
async def test_what_an_acknowledged_write_survives_is_as_was_asked(
    path: Path, synchronous: Any, level: int
) -> None:
    levels: list[tuple[int, int]] = []
    async with SQLiteStore(path, synchronous=synchronous) as store:
        database = store._database  # pyright: ignore[reportPrivateUsage] - a pragma shows nowhere else
        for connection in (database.connect_writer(), database.connect_reader()):
            found = connection.execute("PRAGMA synchronous").fetchone()
            levels.append((*found, *connection.execute("PRAGMA wal_autocheckpoint").fetchone()))
            connection.close()
    assert levels == [(level, 0), (level, 0)]


@pytest.mark.parametrize("size", [None, 4096], ids=["a new one", "one that has tables"])
async def test_a_file_has_pages_of_8_kib_unless_it_has_others(tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "psych.db"
    if size is not None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA page_size = {size}")
            connection.execute("CREATE TABLE theirs (id INTEGER)")
    async with SQLiteStore(path) as store:
        await store.migrate()
        await admit(store)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA page_size").fetchone()[0] == (size or 8192)


# --- files -----------------------------------------------------------------------------------------------


async def test_nothing_is_created_but_by_migrate(tmp_path: Path) -> None:
    async with SQLiteStore(tmp_path / "psych.db") as store:
        for call in (store.get_run(RUN), admit(store), store.claim(WORKER)):
            with pytest.raises(NotMigrated, match=r"level 0, this release needs \d; run `psych migrate`, or"):
                await call
        assert (await store.migrate(plan=True)).pending[0] == "0001_pre_runs"
        assert names(tmp_path) == []
        await store.migrate()
        await admit(store)
    assert names(tmp_path) == ["psych.db"]


async def test_a_path_is_kept_when_the_folder_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with SQLiteStore("a ? strange # name %41.db") as store:
        monkeypatch.chdir("/")
        await store.migrate()
        await admit(store)
    assert names(tmp_path) == ["a ? strange # name %41.db"]


async def test_a_file_that_is_none_of_sqlite_is_named(tmp_path: Path) -> None:
    (tmp_path / "psych.db").write_bytes(b"no database, " * 1_000)
    async with SQLiteStore(tmp_path / "psych.db") as store:
        for call in (store.get_run(RUN), store.claim(WORKER), store.migrate()):
            with pytest.raises(StoreError, match="is no SQLite database") as caught:
                await call
            assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)


async def test_damage_is_never_read_as_a_log(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await admit(store)
        for number in range(50):
            await append(store, RUN, b"%d" % number * 2_000)
    with path.open("r+b") as file:
        file.seek(4096 * 20)
        file.write(b"\xff" * 4096 * 20)
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match="is damaged"):
            await store.read(RUN)


async def test_a_missing_folder_is_a_setting_to_change(tmp_path: Path) -> None:
    with pytest.raises(StoreMisconfigured, match="there is no folder"):
        await SQLiteStore(tmp_path / "absent" / "psych.db").migrate()


async def test_another_journal_mode_is_a_setting_to_change(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = DELETE")
    other.close()
    async with SQLiteStore(path) as store:
        with pytest.raises(StoreMisconfigured, match="journal mode 'delete', not WAL"):
            await store.get_run(RUN)
        assert (await store.migrate(plan=True)).due("pre") == ("journal_mode_wal",)
        assert (await store.migrate()).pending == ()
        await admit(store)


@pytest.fixture
def open_folder() -> Generator[Path]:
    """A folder with a migrated file, which others may look into."""
    folder = Path(mkdtemp())
    asyncio.run(migrate(folder / "psych.db"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def closed_folder(open_folder: Path) -> Generator[Path]:
    """One in which this process may not write, even if it is root's."""
    (open_folder / "psych.db").chmod(0o444)
    open_folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    yield open_folder
    os.seteuid(user)


async def test_a_folder_that_may_not_be_looked_into_is_a_setting_to_change(closed_folder: Path) -> None:
    user = os.geteuid()
    os.seteuid(os.getuid())
    os.chmod(closed_folder, 0o600)
    os.seteuid(user)
    async with SQLiteStore(closed_folder / "psych.db") as store:
        for call in (store.get_run(RUN), admit(store)):
            with pytest.raises(StoreMisconfigured, match="write access"):
                await call


async def test_a_folder_that_may_not_be_written_is_a_setting_to_change(closed_folder: Path) -> None:
    async with SQLiteStore(closed_folder / "psych.db") as store:
        for call in (store.get_run(RUN), admit(store), store.claim(WORKER), store.migrate()):
            with pytest.raises(StoreMisconfigured, match="write access"):
                await call
    with pytest.raises(StoreMisconfigured, match="write access"):
        await SQLiteStore(closed_folder / "new.db").migrate()


@pytest.fixture
def closed_file(open_folder: Path) -> Generator[Path]:
    """A file that this process may not write, even if it is root's, in a folder where it may."""
    path = open_folder / "psych.db"
    path.chmod(0o444)
    open_folder.chmod(0o777)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    yield path
    os.seteuid(user)


async def test_a_file_that_may_not_be_written_is_a_setting_to_change_and_can_be_read(
    closed_file: Path,
) -> None:
    async with SQLiteStore(closed_file) as store:
        for call in (lambda: admit(store), lambda: store.claim(WORKER)):
            with pytest.raises(StoreMisconfigured, match="write access"):
                await call()
            assert (await store.find_runs(RunQuery())).items == ()
    user = os.geteuid()
    os.seteuid(os.getuid())
    # SQLite gives the files beside it the same rights.
    for name in names(closed_file.parent):
        os.chmod(os.path.join(closed_file.parent, name), 0o666)
    os.seteuid(user)
    async with SQLiteStore(closed_file) as store:
        assert (await admit(store)).run_id == RUN


async def test_a_read_only_store_cannot_open_a_file_that_nobody_has_open_in_such_a_folder(
    closed_folder: Path,
) -> None:
    async with SQLiteStore(closed_folder / "psych.db", read_only=True) as store:
        for call in (store.get_run(RUN), store.stats()):
            with pytest.raises(StoreMisconfigured, match="write access"):
                await call
        (warning,) = [each for each in (await store.check()).warnings if "write access" in each]
        assert "psych.db" in warning


async def test_a_read_only_store_reads_in_such_a_folder_while_a_writer_has_the_file_open(
    open_folder: Path,
) -> None:
    async with SQLiteStore(open_folder / "psych.db") as writer:
        await admit(writer)
        os.chmod(open_folder, 0o555)
        with children(("read_as_nobody", open_folder / "psych.db")) as (reader,):
            assert reader.finish() == ["read 1", "refused"]
        os.chmod(open_folder, 0o755)


async def test_a_read_only_store_writes_nothing(path: Path) -> None:
    async with SQLiteStore(path) as writer:
        await admit(writer)
        await settle(writer)
    before = await asyncio.to_thread(path.read_bytes)
    async with SQLiteStore(path, read_only=True) as store:
        assert len(await store.purge(RunQuery(tenant="acme"), dry_run=True)) == 1
        assert (await store.migrate(plan=True)).pending == ()
        assert len((await store.find_runs(RunQuery())).items) == 1
        for call in (store.purge(RunQuery(tenant="acme")), store.erase(RunQuery(tenant="acme"))):
            with pytest.raises(StoreError, match="read-only"):
                await call
    assert await asyncio.to_thread(path.read_bytes) == before


@pytest.mark.parametrize("left", [0, 100, 4096, 4096 * 9 + 7])
async def test_a_truncated_file_is_an_error_and_never_a_log(path: Path, left: int) -> None:
    async with SQLiteStore(path) as store:
        await admit(store)
        for number in range(50):
            await append(store, RUN, b"%d" % number * 2_000)
    os.truncate(path, left)
    for read_only in (False, True):
        async with SQLiteStore(path, read_only=read_only) as store:
            with pytest.raises(StoreError, match=r"is damaged|is no SQLite database|schema level 0"):
                await store.read(RUN)


async def test_a_wal_that_is_gone_shortens_no_log_that_was_read(path: Path) -> None:
    async with SQLiteStore(path) as store:
        header = await admit(store)
        for number in range(5):
            header = await append(store, RUN, b"%d" % number)
        os.unlink(f"{path}-wal")
        with children(("read_alone", path)) as (reader,):
            (said,) = reader.finish()
        assert said in {"read 6", "refused"}
        assert len(await store.read(RUN)) == 6
        assert await store.get_run(RUN) == header


async def test_a_read_only_store_reads(path: Path) -> None:
    async with SQLiteStore(path) as writer, SQLiteStore(path, read_only=True) as store:
        header = await admit(writer)
        assert await store.get_run(RUN) == header
        async with store.changes([RUN]) as watch:
            await append(writer)
            assert (await watch.wait(5)).runs == {RUN}
        for call in (append(store), store.claim(WORKER), store.migrate()):
            with pytest.raises(StoreError, match="read-only"):
                await call


# --- loops and threads -----------------------------------------------------------------------------------


async def test_a_closed_store_says_so(path: Path) -> None:
    store = SQLiteStore(path)
    await admit(store)
    async with store.changes([RUN]) as watch:
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await watch.wait(1)
    for call in (store.get_run(RUN), append(store), store.migrate(), store.claim(WORKER)):
        with pytest.raises(StoreError, match="closed"):
            await call


async def test_close_waits_for_what_was_asked_and_ends_all_threads(path: Path) -> None:
    before = threads()
    async with SQLiteStore(path) as store:
        tasks = [asyncio.create_task(admit(store, f"run_{number}")) for number in range(20)]
        await asyncio.gather(*tasks)
        assert threads() > before
    assert threads() == before
    assert names(path.parent) == ["psych.db"]


async def test_a_close_wakes_who_waits(path: Path) -> None:
    store = SQLiteStore(path)
    async with store.changes([RUN], ready=True) as watch:
        waiting = asyncio.create_task(watch.wait(60))
        await asyncio.sleep(0)
        await store.close()
        assert not await waiting


def test_one_store_serves_one_run_of_asyncio_after_the_other(path: Path) -> None:
    store = SQLiteStore(path)
    asyncio.run(admit(store))
    asyncio.run(append(store))
    assert asyncio.run(store.get_run(RUN)).head.seq == 2
    asyncio.run(store.close())


def test_a_second_loop_is_told_what_to_do(path: Path) -> None:
    store = SQLiteStore(path)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(admit(store))
        with pytest.raises(StoreError, match="one store for each loop"):
            second.run(store.get_run(RUN))
        first.run(store.close())


def test_a_store_that_is_dropped_ends_its_threads(path: Path) -> None:
    before = set(threading.enumerate())
    store = SQLiteStore(path)
    asyncio.run(admit(store))
    left = set(threading.enumerate()) - before
    del store
    gc.collect()
    for thread in left:
        thread.join(5)
    assert not any(thread.is_alive() for thread in left)


async def test_readers_are_as_many_as_are_needed(path: Path) -> None:
    before = threading.active_count()
    async with SQLiteStore(path, readers=3) as store:
        header = await admit(store)
        assert threading.active_count() == before + 2, "a writer and a reader"
        found = await asyncio.gather(*(store.get_run(RUN) for _ in range(50)))
        assert found == [header] * 50
        assert threading.active_count() == before + 4


async def test_a_refusal_leaves_its_reader_usable(path: Path) -> None:
    async with SQLiteStore(path, readers=1) as store:
        for _ in range(3):
            with pytest.raises(RunNotFound):
                await store.get_run(RUN)


# --- time ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["Asia/Kolkata", "America/St_Johns", "Europe/Berlin"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[ZoneInfo]:
    """The zone that this process believes to be in."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield ZoneInfo(request.param)
    monkeypatch.undo()
    time.tzset()


async def test_no_zone_moves_an_instant(path: Path, zone: ZoneInfo) -> None:
    clock = FakeClock()
    async with SQLiteStore(path, clock=clock) as store:
        await admit(store)
        # In Berlin, this hour of this night comes twice.
        for fold in (0, 1):
            lease = (await claim(store)).lease
            assert (await store.get_run(RUN)).lease == lease
            assert lease.expires_at.timestamp() == clock.now().timestamp() + 30
            at = datetime(2026, 10, 25, 2, 30, 0, 1, tzinfo=zone, fold=fold)
            header = await append(store, RUN, change=rest(at), lease=lease)
            assert header.ready_at is not None
            assert header.ready_at.timestamp() == at.timestamp()
            await clock.advance((header.ready_at - clock.now()).total_seconds())

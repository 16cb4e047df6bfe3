"""What a SQLite store makes of a disk on which any call may fail."""

import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from psych_runtime_contract.store.scenes import RUN, admit, appending
from psych_runtime_core.errors import StoreFull, StoreUnavailable
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_sqlite import SQLiteStore, checkpoint
from tests.stores.failing_files import Call, Files, failing_files

BODIES = [b"one", b"two", b"three"]
# The result codes of SQLite for these calls.
FSYNC_FAILED, WRITE_FAILED = 1_034, 778


@dataclass(frozen=True)
class Fault:
    """What fails, with which code, and what a caller is told."""

    call: Call
    code: int
    told: type[StoreUnavailable]
    lasts: bool = True


FAULTS = [
    pytest.param(Fault("sync", FSYNC_FAILED, StoreUnavailable, lasts=False), id="fsync, once"),
    pytest.param(Fault("sync", FSYNC_FAILED, StoreUnavailable), id="fsync, from then on"),
    pytest.param(Fault("write", WRITE_FAILED, StoreUnavailable), id="write, from then on"),
    pytest.param(Fault("write", sqlite3.SQLITE_FULL, StoreFull), id="disk full, until there is room"),
]


@pytest.fixture
def files() -> Generator[Files]:
    try:
        with failing_files() as files:
            yield files
    except OSError as error:
        pytest.skip(str(error))


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    """A file with one Run that nobody holds open."""
    path = tmp_path / "template.db"
    async with SQLiteStore(path, synchronous="normal") as store:
        await store.migrate()
        await admit(store)
    return path


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_call_of_the_disk_may_fail_anywhere(
    template: Path, files: Files, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    # The file itself is written, too: after every few commits, and when the store is closed.
    monkeypatch.setattr(checkpoint, "PAGES", 4)
    after = 0
    for after in count():
        path = template.with_name(f"{after}.db")
        shutil.copy(template, path)
        async with SQLiteStore(path) as store:
            header = await store.get_run(RUN)
            files.fail(fault.call, fault.code, after, lasts=fault.lasts)
            for body in BODIES:
                header = await grown(store, header, body, files, fault)
        assert bodies_of(path) == [b"admitted", *BODIES]
        if not files.struck:
            break
    assert after > len(BODIES), "each commit was met, and what is done beside them"


async def grown(store: SQLiteStore, header: RunHeader, body: bytes, files: Files, fault: Fault) -> RunHeader:
    """A Run with one more entry: tried, and once the disk is well again repeated."""
    write = appending(header, body)
    told: StoreUnavailable | None = None
    try:
        await store.commit([write])
    except StoreUnavailable as error:
        told = error
    if told:
        assert type(told) is fault.told
        assert isinstance(told.__cause__, sqlite3.Error)
        if told.outcome == "none":
            assert (await store.get_run(RUN)).head == header.head
        files.heal()
    # What landed may be repeated.
    (head,) = await store.commit([write])
    return header.model_copy(update={"head": head})


def bodies_of(path: Path) -> list[bytes]:
    """What is in the log, as SQLite itself reads it from a sound file."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [body for (body,) in connection.execute("SELECT body FROM psych_entry ORDER BY seq")]

"""What purges, imports and erasures leave in the file, also when they are cut short."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.endings import over, store_all
from psych_runtime_contract.store.scenes import RUN, admission, admit, claim, settle
from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import Lease
from psych_runtime_core.ports.writes import Admit
from psych_runtime_sql.sweeps import Budget
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.access import FileAccess

ALL = RunQuery(tenant="acme")
DAY = 86_400


class CutError(Exception):
    """The process ended here, so to speak."""


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Let so many more writes through, and then none; None for any number."""
    left: list[int | None] = [None]
    write = FileAccess.write

    async def counted(self: FileAccess, operation: str, work: Any, size: int = 0) -> Any:
        if left[0] == 0:
            raise CutError
        left[0] = None if left[0] is None else left[0] - 1
        return await write(self, operation, work, size)

    monkeypatch.setattr(FileAccess, "write", counted)

    def after(writes: int | None) -> None:
        left[0] = writes

    return after


def count(path: Path, *tables: str) -> list[int]:
    """How many rows there are."""
    connection = sqlite3.connect(path)
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    connection.close()
    return counts


def fill(path: Path, run_id: str, entries: int) -> None:
    """Lengthen a log behind the store's back, which is quicker."""
    connection = sqlite3.connect(path)
    rows = ((run_id, seq, bytes(200)) for seq in range(100, 100 + entries))
    with connection:
        connection.executemany("INSERT INTO psych_entry VALUES (?, ?, 'x', 0, 0, ?, x'00')", rows)
    connection.close()


async def with_long_logs(store: SQLiteStore, path: Path, entries: int = 1_500) -> None:
    """Two settled Runs whose logs take several slices."""
    for run_id in ("run_a", "run_b"):
        await admit(store, run_id, idempotency_key=run_id)
        await settle(store, run_id)
        fill(path, run_id, entries)


# --- purge -----------------------------------------------------------------------------------------------


async def test_a_purge_leaves_nothing_but_the_keys(store: SQLiteStore, path: Path) -> None:
    await with_long_logs(store, path)
    assert {header.run_id for header in await store.purge(ALL)} == {"run_a", "run_b"}
    assert count(path, "psych_run", "psych_entry", "psych_mark", "psych_key") == [0, 0, 0, 2]


async def test_a_purge_takes_no_more_than_a_slice_at_once(
    store: SQLiteStore, path: Path, cut: Callable[[int | None], None]
) -> None:
    await with_long_logs(store, path, entries=2_500)
    taken: list[int] = []
    cut(1)
    for _ in range(20):
        before = count(path, "psych_entry")
        with suppress(CutError):
            await store.purge(ALL)
        taken.append(before[0] - count(path, "psych_entry")[0])
        cut(1)
    assert count(path, "psych_entry", "psych_mark") == [0, 0]
    assert max(taken) <= Budget().rows


async def test_a_purge_cut_after_any_commit_shows_whole_runs_and_is_finished_by_the_next(
    store: SQLiteStore, path: Path, cut: Callable[[int | None], None]
) -> None:
    for writes in range(4):
        await with_long_logs(store, path)
        cut(writes)
        with pytest.raises(CutError):
            await store.purge(ALL)
        cut(None)
        for run_id in map(RunId, ("run_a", "run_b")):
            if writes == 0:
                assert len(await store.read(run_id, limit=10_000)) > 1_500
                continue
            for call in (store.get_run(run_id), store.read(run_id)):
                with pytest.raises(RunNotFound):
                    await call
        left = any("purge" in warning for warning in (await store.check()).warnings)
        assert left == (writes > 0)
        await store.purge(ALL)
        assert count(path, "psych_run", "psych_entry", "psych_mark") == [0, 0, 0]
        change_keys(path)


def change_keys(path: Path) -> None:
    """Forget all keys, so that the same Runs may come again."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM psych_key")
    connection.close()


async def test_a_run_may_come_again_before_its_old_log_is_gone(
    store: SQLiteStore, path: Path, cut: Callable[[int | None], None]
) -> None:
    await with_long_logs(store, path)
    cut(1)
    with pytest.raises(CutError):
        await store.purge(ALL)
    cut(None)
    await admit(store, "run_a", bodies=[b"anew"])
    assert [entry.body for entry in await store.read(RunId("run_a"), limit=10_000)] == [b"anew"]
    await store.purge(ALL)
    assert count(path, "psych_run", "psych_entry", "psych_mark") == [1, 1, 0]


async def test_a_tree_larger_than_a_commit_goes_children_first(
    store: SQLiteStore, cut: Callable[[int | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psych_runtime_sql.purge.REMOVED_AT_ONCE", 2)
    tree = {"run_a": None, "run_b": "run_a", "run_c": "run_b"}
    for depth, (run_id, parent) in enumerate(tree.items()):
        await admit(store, run_id, root_run_id="run_a", parent_run_id=parent, delegation_depth=depth)
        await settle(store, run_id)
    cut(1)
    with pytest.raises(CutError):
        await store.purge(ALL)
    cut(None)
    assert (await store.get_run(RunId("run_a"))).run_id == "run_a", "the root is there to be purged again"
    assert [header.run_id for header in await store.purge(ALL)] == ["run_a"]


async def test_a_purge_shortens_the_file(store: SQLiteStore, path: Path) -> None:
    await with_long_logs(store, path, entries=20_000)
    await store.close()
    full = os.stat(path).st_size
    async with SQLiteStore(path, clock=store.clock) as again:
        await again.purge(ALL)
    assert os.stat(path).st_size < full / 4


async def test_a_long_purge_costs_no_worker_its_lease(path: Path) -> None:
    async with SQLiteStore(path) as store:
        await store.migrate()
        await with_long_logs(store, path, entries=20_000)
        leases: list[Lease] = []
        for number in range(4):
            await admit(store, f"run_{number}")
            leases.append((await claim(store, f"worker_{number}", lease_seconds=3)).lease)
        purging = asyncio.create_task(store.purge(ALL))
        rounds = 0
        while not purging.done():
            renewed = await store.renew(leases, lease_seconds=3)
            assert [each.outcome for each in renewed] == ["kept"] * 4
            leases = [each.lease for each in renewed]
            rounds += 1
        assert len(await purging) == 2
        assert rounds > 10, "they had their turns all the while"


# --- imports ---------------------------------------------------------------------------------------------


def past(letter: bytes = b"x", **also: Any) -> Admit:
    """A log that is too long for one commit."""
    return admission(bodies=[letter * 1_500_000] * 12, ready_at=None, epoch=0, **also)


async def import_cut_short(
    store: SQLiteStore, cut: Callable[[int | None], None], write: Admit, writes: int = 1
) -> None:
    cut(writes)
    with pytest.raises(CutError):
        await store.admit(write.header, write.entries)
    cut(None)


async def test_a_long_past_is_invisible_until_it_is_whole(
    store: SQLiteStore, path: Path, cut: Callable[[int | None], None]
) -> None:
    write = past()
    await import_cut_short(store, cut, write)
    with pytest.raises(RunNotFound):
        await store.read(RUN)
    assert count(path, "psych_run", "psych_mark") == [0, 1]
    assert any("import" in warning for warning in (await store.check()).warnings)


async def test_a_repeated_import_goes_on_where_a_crash_left_it(
    store: SQLiteStore, path: Path, cut: Callable[[int | None], None]
) -> None:
    write = past()
    await import_cut_short(store, cut, write, writes=5)
    (stored,) = count(path, "psych_entry")
    assert 0 < stored < len(write.entries)
    cut(1)
    assert await store.admit(write.header, write.entries) == RUN
    cut(None)
    assert (await store.read(RUN, limit=2))[0] == write.entries[0]
    assert (await store.get_run(RUN)).head == write.head
    assert count(path, "psych_entry", "psych_mark") == [len(write.entries), 0]


@pytest.mark.parametrize("other", [past(b"y"), admission(bodies=[b"short"])], ids=["long", "short"])
async def test_another_log_of_the_same_run_takes_the_place_of_what_a_crash_left(
    store: SQLiteStore, path: Path, cut: Callable[[int | None], None], other: Admit
) -> None:
    await import_cut_short(store, cut, past())
    await store.admit(other.header, other.entries)
    assert (await store.read(RUN, limit=1)) == other.entries[:1]
    assert count(path, "psych_entry", "psych_mark") == [len(other.entries), 0]


async def test_what_an_import_left_goes_with_the_first_purge_after_a_day(
    store: SQLiteStore, path: Path, clock: FakeClock, cut: Callable[[int | None], None]
) -> None:
    await import_cut_short(store, cut, past())
    await clock.advance(DAY - 1)
    await store.purge(ALL)
    assert count(path, "psych_mark") == [1], "somebody may be at it"
    await clock.advance(1)
    await store.purge(ALL)
    assert count(path, "psych_entry", "psych_mark") == [0, 0]


# --- keys ------------------------------------------------------------------------------------------------


async def test_admissions_remove_the_keys_whose_time_is_over_two_at_a_time(
    store: SQLiteStore, path: Path, clock: FakeClock
) -> None:
    for number in range(5):
        await admit(store, f"run_{number}", idempotency_key=f"order {number}")
        await settle(store, f"run_{number}")
    assert await store.erase(ALL) == 5
    await clock.advance(30 * DAY)
    left: list[int] = []
    for number in range(5, 8):
        await admit(store, f"run_{number}")
        left += count(path, "psych_key")
    assert left == [3, 1, 0]


async def test_nothing_of_an_erased_person_stays_in_the_rows(store: SQLiteStore, path: Path) -> None:
    await admit(
        store, scope={"tenant": "acme", "principal": "Ada", "labels": {"who": "Ada"}}, idempotency_key="Ada"
    )
    await settle(store)
    await store.erase(ALL)
    connection = sqlite3.connect(path)
    dump = "\n".join(connection.iterdump())
    connection.close()
    assert "Ada" not in dump
    assert b"Ada".hex() not in dump.lower()


async def test_two_purges_at_once_take_each_run_once(store: SQLiteStore, path: Path) -> None:
    for number in range(40):
        await admit(store, f"run_{number:02}")
        await settle(store, f"run_{number:02}")
    async with SQLiteStore(path, clock=store.clock) as other:
        gone = await asyncio.gather(store.purge(ALL), other.purge(ALL))
    ids = [header.run_id for headers in gone for header in headers]
    assert sorted(ids) == [f"run_{number:02}" for number in range(40)]
    assert count(path, "psych_run", "psych_entry", "psych_mark") == [0, 0, 0]


@pytest.mark.parametrize(
    ("place", "meanwhile"),
    [
        pytest.param({}, admission("run_b", continues_run_id=RUN), id="an heir"),
        pytest.param(
            {"parent_run_id": "run_b", "root_run_id": "run_b", "delegation_depth": 1},
            over("run_b"),
            id="its root",
        ),
    ],
)
async def test_a_tree_to_which_somebody_came_meanwhile_stays(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch, place: dict[str, Any], meanwhile: Admit
) -> None:
    await admit(store, **place)
    await settle(store)
    write = FileAccess.write

    async def late(self: FileAccess, operation: str, work: Any, size: int = 0) -> Any:
        monkeypatch.setattr(FileAccess, "write", write)
        await store_all(store, meanwhile)
        return await write(self, operation, work, size)

    monkeypatch.setattr(FileAccess, "write", late)
    assert await store.purge(RunQuery(run_ids=frozenset({RunId(RUN)}))) == ()
    assert (await store.get_run(RUN)).run_id == RUN

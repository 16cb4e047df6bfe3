"""What small values are in a file: for all its processes, within bounds, and past a restart."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from packages.sqlite.tests.other_code import asked
from psych_runtime.testing.clock import FakeClock
from psych_runtime_core.ports.kv import MAX_VALUE_BYTES, KvItem, KvKey
from psych_runtime_sqlite import SQLiteStore
from psych_runtime_sqlite.jobs import Answer
from psych_runtime_sqlite.writer import Group, Writer

KEY = KvKey("acme", "tokens", "mail")


def named(name: str) -> KvKey:
    return KvKey("acme", "tokens", name)


def kept(path: Path) -> int:
    """How many values the file holds, expired ones too."""
    return asked(path, "SELECT count(*) FROM psych_kv")


async def stored(store: SQLiteStore, key: KvKey, value: bytes = b"x", **also: float) -> KvItem:
    item = await store.kv.put(key, value, ttl_seconds=also.get("ttl_seconds"))
    assert item is not None
    return item


async def names_of(store: SQLiteStore, prefix: str = "", limit: int = 100) -> list[str]:
    """All names, page by page."""
    names: list[str] = []
    page = await store.kv.list("acme", "tokens", prefix=prefix, limit=limit)
    names += [item.key.name for item in page.items]
    while page.cursor is not None:
        page = await store.kv.list("acme", "tokens", prefix=prefix, cursor=page.cursor, limit=limit)
        names += [item.key.name for item in page.items]
    return names


async def test_no_revision_comes_twice_though_the_file_was_opened_anew(path: Path, clock: FakeClock) -> None:
    revisions: list[int] = []
    for _ in range(3):
        async with SQLiteStore(path, clock=clock) as store:
            await store.migrate()
            revisions.append((await stored(store, KEY)).revision)
            assert await store.kv.delete(KEY)
            revisions.append((await stored(store, KEY, ttl_seconds=1)).revision)
            await clock.advance(1)
            revisions.append((await stored(store, KEY)).revision)
            assert await store.kv.clear("acme", "tokens") == 1
    assert len(set(revisions)) == 9
    assert revisions == sorted(revisions)


async def test_of_writers_in_two_handles_one_wins_each_round(store: SQLiteStore, path: Path) -> None:
    async with SQLiteStore(path) as other:
        revision = 0
        for _ in range(10):
            tries = [handle.kv.put(KEY, b"x", expect=revision) for handle in (store, other) * 10]
            (won,) = [item for item in await asyncio.gather(*tries) if item]
            assert won.revision > revision
            revision = won.revision


async def test_a_put_that_is_refused_writes_nothing(store: SQLiteStore, path: Path) -> None:
    await stored(store, KEY)
    watcher = sqlite3.connect(path)
    before = watcher.execute("PRAGMA data_version").fetchone()
    assert await store.kv.put(KEY, b"other", expect=0) is None
    assert watcher.execute("PRAGMA data_version").fetchone() == before
    await store.kv.put(KEY, b"other")
    assert watcher.execute("PRAGMA data_version").fetchone() != before
    watcher.close()


async def test_each_put_takes_two_expired_values_away(
    store: SQLiteStore, path: Path, clock: FakeClock
) -> None:
    for number in range(5):
        await stored(store, named(f"short {number}"), ttl_seconds=1)
    await stored(store, named("long"), ttl_seconds=2)
    await clock.advance(1)
    left: list[int] = []
    for _ in range(4):
        await stored(store, KEY)
        left.append(kept(path))
    assert left == [5, 3, 2, 2]
    assert await names_of(store) == ["long", "mail"]


async def test_names_are_listed_by_their_bytes(store: SQLiteStore) -> None:
    # In UTF-16, and so to many a collation, the third comes before the second.
    names = ["Z", "a", "a\uff5e", "a\U0001f600", "a\U0010ffff", "a\U0010ffff\U0010ffff", "b", "é"]
    for name in reversed(names):
        await stored(store, named(name))
    for limit in (1, 3, 100):
        assert await names_of(store, limit=limit) == names
        assert await names_of(store, prefix="a", limit=limit) == names[1:6]
        assert await names_of(store, prefix="a\U0010ffff", limit=limit) == names[4:6]


async def test_the_longest_name_is_found_by_its_prefix(store: SQLiteStore) -> None:
    name = "\U0010ffff" * 256
    await stored(store, named(name))
    assert await names_of(store, prefix="\U0010ffff") == [name]
    assert await store.kv.clear("acme", "tokens", prefix=name) == 1


async def test_a_page_ends_early_before_it_is_too_large(store: SQLiteStore) -> None:
    names = [f"{number:02}" for number in range(40)]
    await asyncio.gather(*(stored(store, named(name), bytes(MAX_VALUE_BYTES)) for name in names))
    page = await store.kv.list("acme", "tokens")
    assert len(page.items) == 32
    assert page.cursor is not None
    rest = await store.kv.list("acme", "tokens", cursor=page.cursor)
    assert [item.key.name for item in (*page.items, *rest.items)] == names
    assert rest.cursor is None


async def test_a_large_space_is_cleared_in_slices(
    store: SQLiteStore, path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.gather(*(stored(store, named(f"short {number}"), ttl_seconds=1) for number in range(500)))
    await asyncio.gather(*(stored(store, named(f"value {number}")) for number in range(2_000)))
    await stored(store, KvKey("acme", "other", "mail"))
    await clock.advance(1)
    groups: list[list[str]] = []
    commit = Writer._commit  # pyright: ignore[reportPrivateUsage] - what is committed shows nowhere else

    def noted(self: Writer, group: Group) -> list[Answer]:
        groups.append([job.operation for job in group])
        return commit(self, group)

    monkeypatch.setattr(Writer, "_commit", noted)
    assert await store.kv.clear("acme", "tokens") == 2_000
    assert groups == [["kv.clear"]] * 3
    assert kept(path) == 1


async def test_a_value_that_expired_is_not_told_of_as_cleared(
    store: SQLiteStore, path: Path, clock: FakeClock
) -> None:
    await stored(store, named("short"), ttl_seconds=1)
    await stored(store, named("long"), ttl_seconds=2)
    await clock.advance(1)
    assert await store.kv.clear("acme", "tokens") == 1
    assert kept(path) == 0


@pytest.mark.parametrize("call", ["list", "clear"])
async def test_a_prefix_that_no_text_has_is_refused(store: SQLiteStore, call: str) -> None:
    with pytest.raises(ValueError):
        await getattr(store.kv, call)("acme", "tokens", prefix="\ud800")

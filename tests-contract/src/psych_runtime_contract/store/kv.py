"""Small values: what is stored until when, who wins, and what is listed."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ports.kv import MAX_VALUE_BYTES, KeyValue, KvItem, KvKey
from psych_runtime_core.ports.store import Store

KEY = KvKey("acme", "tokens", "mail")
SHORT = 30.0
"""Seconds that a value lasts, where it is to end."""

# UTF-16 would put the fifth before the fourth, a collation the first behind the second.
BY_BYTES = ("Z", "a", "a%", "a\N{FULLWIDTH LATIN SMALL LETTER A}", "a\N{GRINNING FACE}", "ab", "a_", "b", "é")
NAMES = tuple(sorted(BY_BYTES, key=str.encode))
NEARLY_EQUAL = ("acme", "Acme", "acme.", "acme%", "acm_", "café", "cafe\N{COMBINING ACUTE ACCENT}")


def named(name: str, tenant: str = "acme", space: str = "tokens") -> KvKey:
    return KvKey(tenant, space, name)


async def stored(kv: KeyValue, key: KvKey = KEY, value: bytes = b"value", **also: Any) -> KvItem:
    """A value that a put has stored."""
    item = await kv.put(key, value, **also)
    assert item is not None, "a put without conditions, or with one that holds, stores"
    return item


async def names_of(kv: KeyValue, prefix: str = "", limit: int = 100) -> list[str]:
    """All names, page by page."""
    page = await kv.list("acme", "tokens", prefix=prefix, limit=limit)
    names = [item.key.name for item in page.items]
    while page.cursor is not None:
        page = await kv.list("acme", "tokens", prefix=prefix, limit=limit, cursor=page.cursor)
        assert len(page.items) <= limit
        names += [item.key.name for item in page.items]
    return names


def other_kv(second: Store) -> KeyValue:
    """The values of another handle."""
    assert second.kv is not None
    return second.kv


class StoreKv(StoreBase):
    """`store.kv`."""

    # --- a value -----------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "value",
        [
            pytest.param(b"", id="empty"),
            pytest.param(bytes(range(256)), id="every byte"),
            pytest.param(b"x" * MAX_VALUE_BYTES, id="the largest"),
        ],
    )
    async def test_a_value_comes_back_byte_for_byte(self, kv: KeyValue, second: Store, value: bytes) -> None:
        item = await stored(kv, value=value)
        assert (item.key, item.value, item.expires_at) == (KEY, value, None)
        assert item.revision > 0
        assert await other_kv(second).get(KEY) == item

    async def test_what_nobody_put_is_not_there(self, kv: KeyValue) -> None:
        assert await kv.get(KEY) is None
        assert not await kv.delete(KEY)
        assert (await kv.list("acme", "tokens")).items == ()
        assert await kv.clear("acme", "tokens") == 0

    async def test_a_put_replaces_value_and_end(self, kv: KeyValue) -> None:
        first = await stored(kv, ttl_seconds=SHORT)
        second = await stored(kv, value=b"other")
        assert second.revision > first.revision
        assert (second.value, second.expires_at) == (b"other", None)
        assert await kv.get(KEY) == second

    async def test_what_is_deleted_is_gone(self, kv: KeyValue, second: Store) -> None:
        await stored(kv)
        assert await kv.delete(KEY)
        assert await other_kv(second).get(KEY) is None
        assert not await kv.delete(KEY)

    async def test_the_longest_key_is_kept_apart_from_its_neighbour(self, kv: KeyValue) -> None:
        wide = "\N{GRINNING FACE}" * 256
        long = KvKey(wide, wide[:64], wide)
        item = await stored(kv, long)
        await stored(kv, KvKey(wide, wide[:64], wide[:-1] + "x"))
        assert await kv.get(long) == item
        assert len((await kv.list(wide, wide[:64])).items) == 2

    @pytest.mark.needs("caps.durable")
    async def test_values_are_there_when_a_store_is_opened_again(self, store: Store, kv: KeyValue) -> None:
        item = await stored(kv, ttl_seconds=SHORT)
        await store.close()
        async with self.another(store) as opened_again:
            assert await other_kv(opened_again).get(KEY) == item

    # --- `expect` ----------------------------------------------------------------------------------------

    @pytest.mark.parametrize("there", [False, True], ids=["absent", "there"])
    @pytest.mark.parametrize("expected", ["anything", "nothing", "its revision", "another"])
    async def test_what_is_expected_decides(self, kv: KeyValue, expected: str, there: bool) -> None:
        item = await stored(kv) if there else None
        revision = item.revision if item else 1
        expect = {"anything": None, "nothing": 0, "its revision": revision, "another": revision + 1}[expected]
        holds = expected in ({"anything", "its revision"} if there else {"anything", "nothing"})
        put = await kv.put(KEY, b"other", expect=expect)
        assert (put is not None) == holds
        assert await kv.get(KEY) == (put or item)

    @pytest.mark.parametrize("there", [False, True], ids=["absent", "there"])
    @pytest.mark.parametrize("expected", ["anything", "nothing", "its revision", "another"])
    async def test_what_is_expected_decides_of_a_deletion(
        self, kv: KeyValue, expected: str, there: bool
    ) -> None:
        item = await stored(kv) if there else None
        revision = item.revision if item else 1
        expect = {"anything": None, "nothing": 0, "its revision": revision, "another": revision + 1}[expected]
        deleted = there and expected in {"anything", "its revision"}
        assert await kv.delete(KEY, expect=expect) == deleted
        assert await kv.get(KEY) == (None if deleted else item)

    async def test_of_twenty_racing_writers_one_wins_each_round(self, kv: KeyValue, second: Store) -> None:
        revisions = [0]
        for number in range(5):
            won: list[KvItem] = []

            async def write(handle: KeyValue, value: bytes, won: list[KvItem] = won) -> None:
                item = await handle.put(KEY, value, expect=revisions[-1])
                won += [item] if item else []

            async with create_task_group() as group:
                for writer in range(20):
                    handle = other_kv(second) if writer % 2 else kv
                    group.start_soon(write, handle, b"%d.%d" % (number, writer))
            (winner,) = won
            assert await kv.get(KEY) == winner
            revisions.append(winner.revision)
        assert all(earlier < later for earlier, later in pairwise(revisions))

    async def test_no_revision_comes_twice_for_a_key(
        self, kv: KeyValue, second: Store, time: StoreTime
    ) -> None:
        used = [(await stored(kv)).revision]
        await kv.delete(KEY)
        used.append((await stored(other_kv(second), ttl_seconds=1)).revision)
        await time.passes(1)
        used.append((await stored(kv, expect=0)).revision)
        await other_kv(second).clear("acme", "tokens")
        used.append((await stored(kv, expect=0)).revision)
        assert len(set(used)) == len(used)

    # --- time --------------------------------------------------------------------------------------------

    async def test_a_value_ends_at_its_instant_in_every_method(self, kv: KeyValue, time: StoreTime) -> None:
        items = [await stored(kv, named(name), ttl_seconds=1) for name in ("a", "b", "c")]
        ends = items[0].expires_at
        assert ends is not None
        if time.is_moved:
            assert [item.expires_at for item in items] == [time.after(1)] * 3
        await time.nears(ends)
        if time.is_moved:
            assert await kv.get(items[0].key) == items[0]
            assert len((await kv.list("acme", "tokens")).items) == 3
            assert await kv.put(items[0].key, b"", expect=0) is None
        await time.reaches(max(item.expires_at or ends for item in items))
        assert await kv.get(items[0].key) is None
        assert (await kv.list("acme", "tokens")).items == ()
        assert not await kv.delete(items[0].key)
        assert not await kv.delete(items[1].key, expect=items[1].revision)
        assert await kv.put(items[1].key, b"", expect=items[1].revision) is None
        assert await kv.clear("acme", "tokens") == 0
        assert await kv.put(items[2].key, b"", expect=0) is not None

    async def test_a_time_to_live_is_exact(self, kv: KeyValue, time: StoreTime) -> None:
        since = time.now()
        item = await stored(kv, ttl_seconds=0.000_001)
        ends = since + timedelta(microseconds=1)
        assert item.expires_at == time.told(item.expires_at, ends)

    async def test_a_put_prolongs_a_value(self, kv: KeyValue, time: StoreTime) -> None:
        first = await stored(kv, ttl_seconds=1)
        again = await stored(kv, expect=first.revision, ttl_seconds=SHORT)
        await time.passes(1)
        assert await kv.get(KEY) == again

    async def test_a_lock_is_taken_over_at_its_end_and_its_late_holder_changes_nothing(
        self, kv: KeyValue, second: Store, time: StoreTime
    ) -> None:
        other = other_kv(second)
        mine = await stored(kv, expect=0, ttl_seconds=1)
        assert await other.put(KEY, b"theirs", expect=0, ttl_seconds=SHORT) is None
        assert mine.expires_at is not None
        await time.reaches(mine.expires_at)
        theirs = await stored(other, value=b"theirs", expect=0, ttl_seconds=SHORT)
        assert not await kv.delete(KEY, expect=mine.revision)
        assert await kv.put(KEY, b"late", expect=mine.revision, ttl_seconds=1) is None
        assert await kv.get(KEY) == theirs
        assert await other.delete(KEY, expect=theirs.revision)

    # --- lists -------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    async def test_names_are_listed_by_their_bytes(self, kv: KeyValue, second: Store, limit: int) -> None:
        for name in reversed(BY_BYTES):
            await stored(kv, named(name))
        assert tuple(await names_of(other_kv(second), limit=limit)) == NAMES

    @pytest.mark.parametrize("prefix", ["a", "a%", "a_", "ab", "A", "é", "e", "a\N{GRINNING FACE}", "abc"])
    async def test_a_prefix_is_no_pattern_and_knows_case(self, kv: KeyValue, prefix: str) -> None:
        for name in BY_BYTES:
            await stored(kv, named(name))
        begin = [name for name in NAMES if name.startswith(prefix)]
        assert await names_of(kv, prefix, limit=2) == begin
        assert await kv.clear("acme", "tokens", prefix=prefix) == len(begin)
        assert await names_of(kv) == [name for name in NAMES if name not in begin]

    async def test_a_list_holds_whole_items(self, kv: KeyValue) -> None:
        items = [await stored(kv, named(name), name.encode(), ttl_seconds=SHORT) for name in NAMES]
        assert (await kv.list("acme", "tokens")).items == tuple(items)

    async def test_what_stays_is_listed_once_whatever_comes_and_goes_between_pages(
        self, kv: KeyValue
    ) -> None:
        for number in range(0, 20, 2):
            await stored(kv, named(f"{number:02}"))
        page = await kv.list("acme", "tokens", limit=3)
        listed = [item.key.name for item in page.items]
        number = 1
        while page.cursor is not None:
            await stored(kv, named(f"{number:02}"))
            await kv.delete(named(listed[-1]))
            number += 4
            page = await kv.list("acme", "tokens", limit=3, cursor=page.cursor)
            listed += [item.key.name for item in page.items]
        even = [name for name in listed if int(name) % 2 == 0]
        assert even == [f"{number:02}" for number in range(0, 20, 2)]
        assert listed == sorted(set(listed))

    async def test_tenants_and_spaces_that_differ_at_all_are_apart(self, kv: KeyValue) -> None:
        keys = [named("mail", tenant, space) for tenant in NEARLY_EQUAL for space in NEARLY_EQUAL]
        items = {key: await stored(kv, key, repr(key).encode()) for key in keys}
        for key in keys:
            assert await kv.get(key) == items[key]
            assert (await kv.list(key.tenant, key.space)).items == (items[key],)
        assert await kv.clear(keys[0].tenant, keys[0].space) == 1
        assert [await kv.get(key) for key in keys[1:]] == [items[key] for key in keys[1:]]

    # --- what is refused ---------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "given",
        [
            pytest.param({"value": bytes(MAX_VALUE_BYTES + 1)}, id="too large"),
            pytest.param({"ttl_seconds": 0}, id="no time"),
            pytest.param({"ttl_seconds": -1}, id="less than no time"),
            pytest.param({"ttl_seconds": float("nan")}, id="no number"),
            pytest.param({"expect": -1}, id="no revision"),
        ],
    )
    async def test_a_put_out_of_bounds_stores_nothing(self, kv: KeyValue, given: dict[str, Any]) -> None:
        asked: dict[str, Any] = {"value": b"value", **given}
        with pytest.raises(ValueError):
            await kv.put(KEY, **asked)
        assert await kv.get(KEY) is None

    @pytest.mark.parametrize("limit", [0, -1, 1_001])
    async def test_a_page_out_of_bounds_is_refused(self, kv: KeyValue, limit: int) -> None:
        with pytest.raises(ValueError):
            await kv.list("acme", "tokens", limit=limit)

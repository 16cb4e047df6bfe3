"""Small values in a dict, by tenant and space in the order of their names."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count, islice

from psych_runtime_core.clock import Clock
from psych_runtime_core.ports import kv as checks
from psych_runtime_core.ports.kv import EXPIRED_AT_ONCE, KvItem, KvKey
from psych_runtime_core.ports.queries import Page
from psych_runtime_memory.gate import Gate
from psych_runtime_memory.heap import Heap

Space = tuple[str, str]


class InMemoryKeyValue:
    """A `KeyValue` behind the gate of its store. Each `put` also removes a few values that have expired."""

    def __init__(self, gate: Gate, clock: Clock) -> None:
        self._gate, self._clock = gate, clock
        self._items: dict[Space, dict[str, KvItem]] = {}
        self._names: dict[Space, list[str]] = {}
        self._ends: Heap[datetime, tuple[str, str, str]] = Heap()
        # One count for all keys: no revision comes twice, whatever was removed in between.
        self._revisions = count(1)

    def __len__(self) -> int:
        """How many values are kept, expired ones too."""
        return sum(map(len, self._names.values()))

    async def get(self, key: KvKey) -> KvItem | None:
        async with self._gate.alone():
            return self._find(key, self._clock.now())

    async def put(
        self, key: KvKey, value: bytes, *, expect: int | None = None, ttl_seconds: float | None = None
    ) -> KvItem | None:
        checks.check_put(value, expect, ttl_seconds)
        async with self._gate.alone():
            now = self._clock.now()
            self._remove_expired(now)
            if not self._holds(key, expect, now):
                return None
            ends = None if ttl_seconds is None else now + timedelta(seconds=ttl_seconds)
            item = KvItem(key, bytes(value), next(self._revisions), ends)
            self._drop(key)
            self._keep(item)
            return item

    async def delete(self, key: KvKey, *, expect: int | None = None) -> bool:
        checks.check_expect(expect)
        async with self._gate.alone():
            now = self._clock.now()
            found = self._find(key, now) is not None and self._holds(key, expect, now)
            if found:
                self._drop(key)
            return found

    async def list(
        self, tenant: str, space: str, *, prefix: str = "", cursor: str | None = None, limit: int = 100
    ) -> Page[KvItem]:
        checks.check_list(tenant, space, limit)
        async with self._gate.alone():
            now = self._clock.now()
            there = (
                item for item in self._walk((tenant, space), prefix, cursor or "") if _is_there(item, now)
            )
            items = list(islice(there, limit + 1))
        more = len(items) > limit
        return Page(tuple(items[:limit]), items[limit - 1].key.name if more else None)

    async def clear(self, tenant: str, space: str, *, prefix: str = "") -> int:
        checks.check_space(tenant, space)
        async with self._gate.alone():
            now = self._clock.now()
            items = list(self._walk((tenant, space), prefix))
            for item in items:
                self._drop(item.key)
        return sum(_is_there(item, now) for item in items)

    def _find(self, key: KvKey, now: datetime) -> KvItem | None:
        item = self._items.get((key.tenant, key.space), {}).get(key.name)
        return item if item and _is_there(item, now) else None

    def _holds(self, key: KvKey, expect: int | None, now: datetime) -> bool:
        item = self._find(key, now)
        return expect is None or expect == (item.revision if item else 0)

    def _walk(self, space: Space, prefix: str, behind: str = "") -> Iterator[KvItem]:
        """What is kept behind a name, expired or not, by the bytes of the names."""
        names = self._names.get(space, [])
        # Python orders texts by code points, and so does UTF-8.
        for index in range(max(bisect_left(names, prefix), bisect_right(names, behind)), len(names)):
            if not names[index].startswith(prefix):
                return
            yield self._items[space][names[index]]

    def _keep(self, item: KvItem) -> None:
        key, space = item.key, (item.key.tenant, item.key.space)
        self._items.setdefault(space, {})[key.name] = item
        insort(self._names.setdefault(space, []), key.name)
        if item.expires_at is not None:
            self._ends.put((*space, key.name), item.expires_at)

    def _drop(self, key: KvKey) -> None:
        space = (key.tenant, key.space)
        if self._items.get(space, {}).pop(key.name, None) is None:
            return
        names = self._names[space]
        del names[bisect_left(names, key.name)]
        self._ends.take((*space, key.name))
        if not names:
            del self._items[space], self._names[space]

    def _remove_expired(self, now: datetime) -> None:
        for _ in range(EXPIRED_AT_ONCE):
            first = self._ends.first()
            if first and first[0] <= now:
                self._drop(KvKey(*first[1]))


def _is_there(item: KvItem, now: datetime) -> bool:
    return item.expires_at is None or now < item.expires_at

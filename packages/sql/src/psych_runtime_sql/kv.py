"""Small values by key, in a table."""

from __future__ import annotations

from datetime import timedelta

from psych_runtime_core.clock import Clock
from psych_runtime_core.ports import kv as checks
from psych_runtime_core.ports.kv import KvItem, KvKey
from psych_runtime_core.ports.queries import Page
from psych_runtime_sql.access import Access
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.names import Names
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.parts import a_part
from psych_runtime_sql.values import Values


class SqlKeyValue:
    """A `KeyValue` beside the Runs of its store. Each `put` also removes up to 2 values that have expired."""

    def __init__(self, access: Access, values: Values, clock: Clock) -> None:
        self._access, self._values, self._clock = access, values, clock

    async def get(self, key: KvKey) -> KvItem | None:
        return await self._access.read(
            "kv.get", lambda driver: self._values.get(driver, key, self._clock.now())
        )

    async def put(
        self, key: KvKey, value: bytes, *, expect: int | None = None, ttl_seconds: float | None = None
    ) -> KvItem | None:
        checks.check_put(value, expect, ttl_seconds)
        kept = bytes(value)

        async def work(driver: Driver) -> Outcome[KvItem | None]:
            now = self._clock.now()
            ends = None if ttl_seconds is None else now + timedelta(seconds=ttl_seconds)
            return await self._values.put(driver, KvItem(key, kept, 0, ends), expect, now)

        return await self._access.write("kv.put", work, len(kept))

    async def delete(self, key: KvKey, *, expect: int | None = None) -> bool:
        checks.check_expect(expect)
        return await self._access.write(
            "kv.delete", lambda driver: self._values.delete(driver, key, expect, self._clock.now())
        )

    async def list(
        self, tenant: str, space: str, *, prefix: str = "", cursor: str | None = None, limit: int = 100
    ) -> Page[KvItem]:
        """As the port says; a page also ends early, at 8 MiB."""
        checks.check_list(tenant, space, limit)
        names = Names.that_begin_with(tenant, space, prefix)
        left = names if cursor is None else names.behind(cursor)
        return await self._access.read(
            "kv.list", lambda driver: self._values.page(driver, left, limit, self._clock.now())
        )

    async def clear(self, tenant: str, space: str, *, prefix: str = "") -> int:
        """As the port says, in slices: nobody waits for more than one."""
        checks.check_space(tenant, space)
        names = Names.that_begin_with(tenant, space, prefix)
        cleared, last = await self._clear(names)
        while last is not None:
            with a_part():
                count, last = await self._clear(names.behind(last))
            cleared += count
        return cleared

    async def _clear(self, names: Names) -> tuple[int, str | None]:
        return await self._access.write(
            "kv.clear", lambda driver: self._values.clear(driver, names, self._clock.now())
        )

"""Small values, one transaction at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Dialect,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from psych_runtime_core.ports.checks import MAX_PAGE_BYTES
from psych_runtime_core.ports.kv import EXPIRED_AT_ONCE, KvItem, KvKey
from psych_runtime_core.ports.queries import Page
from psych_runtime_sql.driver import Driver, Row, compiled
from psych_runtime_sql.names import Names
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.rows import instant, micros
from psych_runtime_sql.small_tables import EXPIRES, KV, KV_COUNT
from psych_runtime_sql.sweeps import Budget

CLEARED_AT_ONCE = 1_000


class Values:
    """Operations on values, each inside one transaction of the driver it is given."""

    def __init__(self, dialect: Dialect) -> None:
        of_key = and_(_in_space(), KV.c.name == bindparam("name"))
        row = (KV.c.name, KV.c.value, KV.c.revision, KV.c.expires_at)
        size = func.length(KV.c.value)
        page = select(KV.c.name, size).where(_among_names(), _is_there()).order_by(KV.c.name)
        every = select(KV.c.name, size, KV.c.expires_at).where(_among_names()).order_by(KV.c.name)
        expected: ColumnElement[int] = bindparam("expect")
        as_expected = KV.c.revision == func.coalesce(expected, KV.c.revision)
        # Whoever writes a value holds the count until its commit: of two who saw none, one is the second.
        self._count = compiled(select(KV_COUNT.c.revisions).with_for_update(), dialect)
        self._set_count = compiled(update(KV_COUNT).values(revisions=bindparam("revision")), dialect)
        self._get = compiled(select(*row).where(of_key, _is_there()), dialect)
        self._remove = compiled(delete(KV).where(of_key), dialect)
        self._insert = compiled(insert(KV), dialect)
        self._delete = compiled(
            delete(KV).where(of_key, _is_there(), as_expected).returning(KV.c.revision), dialect
        )
        self._expire = compiled(_expire(), dialect)
        self._sizes = compiled(page.limit(bindparam("limit")), dialect)
        self._page = compiled(select(*row).where(_among_names(), _is_there()).order_by(KV.c.name), dialect)
        self._every = compiled(every.limit(CLEARED_AT_ONCE + 1), dialect)
        self._clear = compiled(delete(KV).where(_among_names()), dialect)

    async def get(self, driver: Driver, key: KvKey, now: datetime) -> KvItem | None:
        """What is stored and has not expired."""
        rows = await self._get.fetch(driver, _key(key) | {"now": micros(now)})
        return _item(key.tenant, key.space, rows[0]) if rows else None

    async def put(
        self, driver: Driver, item: KvItem, expect: int | None, now: datetime
    ) -> Outcome[KvItem | None]:
        """Store an item under its next revision, if `expect` holds."""
        last = (await self._count.fetch(driver, {}))[0][0]
        await self._expire.fetch(driver, {"now": micros(now)})
        stored = await self.get(driver, item.key, now)
        if expect not in {None, stored.revision if stored else 0}:
            return Outcome(None)
        kept = replace(item, revision=last + 1)
        await self._set_count.fetch(driver, {"revision": kept.revision})
        await self._remove.fetch(driver, _key(item.key))
        await self._insert.fetch(driver, _row(kept))
        return Outcome(kept)

    async def delete(self, driver: Driver, key: KvKey, expect: int | None, now: datetime) -> Outcome[bool]:
        """Remove a value, if `expect` holds."""
        values = _key(key) | {"expect": expect, "now": micros(now)}
        return Outcome(bool(await self._delete.fetch(driver, values)))

    async def page(self, driver: Driver, names: Names, limit: int, now: datetime) -> Page[KvItem]:
        """The first values, as many as asked for and as 8 MiB hold."""
        values = names.params(now=micros(now), limit=limit + 1)
        rows = await self._sizes.fetch(driver, values)
        fits = Budget(limit, MAX_PAGE_BYTES).take([size for _, size in rows])
        if not fits:
            return Page(())
        last = rows[fits - 1][0]
        found = await self._page.fetch(driver, values | {"last": last})
        items = tuple(_item(names.tenant, names.space, row) for row in found)
        return Page(items, last if fits < len(rows) else None)

    async def clear(self, driver: Driver, names: Names, now: datetime) -> Outcome[tuple[int, str | None]]:
        """Remove a slice: how many had not expired, and the last name unless that was all."""
        rows = await self._every.fetch(driver, names.params())
        taken = rows[: Budget(CLEARED_AT_ONCE).take([size for _, size, _ in rows])]
        if not taken:
            return Outcome((0, None))
        last = taken[-1][0]
        await self._clear.fetch(driver, names.params() | {"last": last})
        count = sum(ends is None or micros(now) < ends for _, _, ends in taken)
        return Outcome((count, last if len(taken) < len(rows) else None))


def _in_space() -> ColumnElement[bool]:
    return and_(KV.c.tenant == bindparam("tenant"), KV.c.space == bindparam("space"))


def _among_names() -> ColumnElement[bool]:
    within = KV.c.name.between(bindparam("first"), bindparam("last"))
    return and_(_in_space(), within, KV.c.name != bindparam("seen"))


def _is_there() -> ColumnElement[bool]:
    return or_(KV.c.expires_at.is_(None), KV.c.expires_at > bindparam("now"))


def _expire() -> Any:
    """A few values whose time is over go."""
    key = (KV.c.tenant, KV.c.space, KV.c.name)
    is_over = KV.c.expires_at <= bindparam("now")
    first = select(*key).where(EXPIRES, is_over).order_by(KV.c.expires_at).limit(EXPIRED_AT_ONCE)
    return delete(KV).where(tuple_(*key).in_(first))


def _key(key: KvKey) -> dict[str, object]:
    return {"tenant": key.tenant, "space": key.space, "name": key.name}


def _row(item: KvItem) -> dict[str, object]:
    ends = None if item.expires_at is None else micros(item.expires_at)
    return _key(item.key) | {"value": item.value, "revision": item.revision, "expires_at": ends}


def _item(tenant: str, space: str, row: Row) -> KvItem:
    name, value, revision, ends = row
    return KvItem(KvKey(tenant, space, name), value, revision, None if ends is None else instant(ends))

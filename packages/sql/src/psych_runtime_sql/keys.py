"""Idempotency keys: each answers for its Run, and for 30 days when the Run is gone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Dialect, and_, bindparam, delete, insert, not_, select, update

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.keys import FORGOTTEN_AT_ONCE, KEY_SECONDS, Known, key_digest, request_under
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.json_columns import json_array, members
from psych_runtime_sql.rows import micros
from psych_runtime_sql.tables import IS_DATED, KEY


class Keys:
    """Operations on keys, each part of one transaction of the driver it is given."""

    def __init__(self, dialect: Dialect) -> None:
        of_key = and_(KEY.c.tenant == bindparam("of_tenant"), KEY.c.key == bindparam("of_key"))
        self._find = compiled(select(KEY.c.run_id, KEY.c.request, KEY.c.forget_at).where(of_key), dialect)
        self._insert = compiled(insert(KEY), dialect)
        self._delete = compiled(delete(KEY).where(of_key), dialect)
        self._forget = compiled(_forget(), dialect)
        self._date = compiled(_date(), dialect)

    async def known(self, driver: Driver, tenant: str, key: str, now: datetime) -> Known | None:
        """What is known of a key. One whose time is over goes."""
        of_key = {"of_tenant": tenant, "of_key": key_digest(tenant, key)}
        rows = await self._find.fetch(driver, of_key)
        if not rows:
            return None
        run_id, request, forget_at = rows[0]
        if forget_at is not None and forget_at <= micros(now):
            await self._delete.fetch(driver, of_key)
            return None
        return Known(run_id, request)

    async def note(self, driver: Driver, header: RunHeader, now: datetime) -> None:
        """A Run came, with a key or without. A few keys whose time is over make room."""
        await self._forget.fetch(driver, {"now": micros(now)})
        key, tenant = header.idempotency_key, header.scope.tenant
        if key is not None:
            row = {"tenant": tenant, "key": key_digest(tenant, key), "run_id": header.run_id}
            request = request_under(key, header.request)
            await self._insert.fetch(driver, {**row, "request": request, "forget_at": None})

    async def date(self, driver: Driver, run_ids: Sequence[RunId], now: datetime) -> None:
        """Runs go, or what they say of a person: from the first time on their keys answer for 30 days."""
        forget_at = micros(now + timedelta(seconds=KEY_SECONDS))
        await self._date.fetch(driver, {"run_ids": json_array(run_ids), "forget_at": forget_at})


def _forget() -> Any:
    over = (
        select(KEY.c.run_id)
        .where(IS_DATED, KEY.c.forget_at <= bindparam("now"))
        .order_by(KEY.c.forget_at)
        .limit(FORGOTTEN_AT_ONCE)
    )
    return delete(KEY).where(KEY.c.run_id.in_(over), KEY.c.forget_at <= bindparam("now"))


def _date() -> Any:
    of_runs = KEY.c.run_id.in_(members("run_ids"))
    return update(KEY).where(of_runs, not_(IS_DATED)).values(forget_at=bindparam("forget_at"))

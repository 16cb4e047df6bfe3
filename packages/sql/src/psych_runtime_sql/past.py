"""Admissions of a long past: the entries first, under a mark, the header last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Dialect, bindparam, select

from psych_runtime_core.ports.judge import has_landed
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records import Entry, Head
from psych_runtime_sql.admissions import Admissions, Standing
from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.marks import Mark, MarkKind, Marks
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.sweeps import Budget, Sweeper
from psych_runtime_sql.tables import ENTRY


class Past:
    """One step of such an admission at a time, each in one transaction: whoever asks goes on with it."""

    def __init__(self, admissions: Admissions, marks: Marks, sweeper: Sweeper, dialect: Dialect) -> None:
        self._admissions, self._marks, self._sweeper = admissions, marks, sweeper
        last = select(ENTRY.c.seq, ENTRY.c.digest).where(ENTRY.c.run_id == bindparam("run_id"))
        self._last = compiled(last.order_by(ENTRY.c.seq.desc()).limit(1), dialect)

    async def step(self, driver: Driver, write: Admit, now: datetime) -> Outcome[Standing | None]:
        """Get further; the Run, once it stands. Raises `IdempotencyConflict`."""
        header = await self._admissions.find(driver, write.run_id)
        if standing := await self._admissions.by_key(driver, write, header, now):
            return Outcome(standing)
        if has_landed([(write, header)], now) or header is not None:
            return Outcome(Standing(write.run_id, header.head if header else write.head))
        mark = await self._marks.of(driver, write.run_id)
        rows = await self._last.fetch(driver, {"run_id": write.run_id})
        stored = Head(*rows[0]) if rows else None
        if mark is not None and not _leads_to(stored, write, mark):
            await self._sweeper.slice(driver, [mark])
            return Outcome(None)
        return await self._store(driver, write, write.entries[stored.seq if stored else 0 :], now)

    async def _store(
        self, driver: Driver, write: Admit, missing: Sequence[Entry], now: datetime
    ) -> Outcome[Standing | None]:
        """A piece of what is missing, and with the last one the header."""
        part = missing[: Budget().take([len(entry.body) for entry in missing])]
        await self._admissions.insert_entries(driver, write.run_id, part)
        if len(part) < len(missing):
            tenant = write.header.scope.tenant
            await self._marks.put(driver, Mark(write.run_id, MarkKind.IMPORT, tenant, now))
            return Outcome(None)
        await self._marks.remove(driver, write.run_id)
        after = await self._admissions.insert_header(driver, write, now)
        return Outcome(Standing(after.run_id, after.head), {after.run_id: after.head.seq})


def _leads_to(stored: Head | None, write: Admit, mark: Mark) -> bool:
    """Whether what is stored under a mark is how this log begins."""
    if mark.kind is not MarkKind.IMPORT:
        return False
    return stored is None or any(entry.head == stored for entry in write.entries[stored.seq - 1 : stored.seq])

"""How a Run comes into the store, and whether it is there already: by its id, or by its tenant's key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.header import admitted
from psych_runtime_core.ports.keys import judge_key
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records import Entry, Head
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.keys import Keys
from psych_runtime_sql.marks import Mark, Marks
from psych_runtime_sql.rows import (
    entry_params,
    header_of,
    run_values,
    settled_values,
    work_values,
)
from psych_runtime_sql.statements import Statements
from psych_runtime_sql.texts import Texts

ENTRIES_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Standing:
    """A Run after a commit, and the head that this commit left or found."""

    run_id: RunId
    head: Head


class Unfinished(Exception):
    """Entries of another Run of this id are still there; who finishes its mark may admit anew."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(mark.id)
        self.mark = mark


class Admissions:
    """What `Runs` and a long past share: each call is part of one transaction of the driver it is given."""

    def __init__(self, statements: Statements, keys: Keys, marks: Marks, texts: Texts) -> None:
        self._sql, self._keys, self._marks, self._texts = statements, keys, marks, texts

    async def find(self, driver: Driver, run_id: RunId) -> RunHeader | None:
        """The header, where the Run is stored."""
        rows = await self._sql.header.fetch(driver, {"run_id": run_id})
        return header_of(rows[0]) if rows else None

    async def by_key(
        self, driver: Driver, write: Admit, header: RunHeader | None, now: datetime
    ) -> Standing | None:
        """Who answers for the key of an admission, be it purged or erased. `header`: the Run of its id.

        Raises `IdempotencyConflict`.
        """
        key, tenant = write.header.idempotency_key, write.header.scope.tenant
        if key is None or not (header is None or header.erased):
            return None
        known = await self._keys.known(driver, tenant, key, now)
        answers = judge_key(write.header, known, now)
        if answers is None:
            return None
        found = await self.find(driver, answers)
        return Standing(answers, found.head if found else write.head)

    async def admit(self, driver: Driver, write: Admit, now: datetime) -> RunHeader:
        """Store a header that is not there. Raises `Unfinished`."""
        mark = await self._marks.of(driver, write.run_id)
        if mark is not None:
            raise Unfinished(mark)
        return await self.insert_header(driver, write, now)

    async def insert_header(self, driver: Driver, write: Admit, now: datetime) -> RunHeader:
        """The rows of a new Run but for its entries."""
        header = admitted(write, now)
        await self._sql.insert_run.fetch(driver, run_values(header))
        if header.terminal is None:
            await self._sql.insert_work.fetch(driver, work_values(header, now))
        else:
            await self._sql.settle_run.fetch(driver, settled_values(header))
        await self._keys.note(driver, header, now)
        return header

    async def insert_entries(self, driver: Driver, run_id: RunId, entries: Sequence[Entry]) -> None:
        """Entries behind those that are there."""
        for start in range(0, len(entries), ENTRIES_AT_ONCE):
            part = entries[start : start + ENTRIES_AT_ONCE]
            statement = self._sql.insert_entries(len(part))
            await driver.fetch(statement.sql, entry_params(run_id, part))

    async def let_go(self, driver: Driver, run_ids: Sequence[RunId], now: datetime) -> None:
        """What else there is of Runs that are purged or erased: text goes, keys answer for their time."""
        await self._keys.date(driver, run_ids, now)
        await self._texts.forget(driver, run_ids)

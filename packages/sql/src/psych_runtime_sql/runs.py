"""Headers and logs: commits, and reading them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.header import admitted, appended
from psych_runtime_core.ports.judge import has_landed
from psych_runtime_core.ports.store import Admit, Append, HeaderAction, RunHeader, Write
from psych_runtime_core.records import Entry, Head
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.rows import (
    entry_of,
    entry_params,
    extension_values,
    header_of,
    is_ready,
    key_digest,
    log_values,
    run_values,
    settled_values,
    work_values,
)
from psych_runtime_sql.statements import Statements

ENTRIES_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Standing:
    """A Run after a commit, and the head that this commit left or found."""

    run_id: RunId
    head: Head


class Runs:
    """Operations on Runs, each inside one transaction of the driver it is given."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements

    async def commit(
        self, driver: Driver, writes: Sequence[Write], now: datetime
    ) -> Outcome[tuple[Standing, ...]]:
        """All writes or none; where each Run stands after. Raises what `Store.commit` says."""
        if await self._extend(driver, writes, now):
            write = writes[0]
            return Outcome((Standing(write.run_id, write.head),), heads={write.run_id: write.head.seq})
        met = [(write, await self._standing(driver, write)) for write in writes]
        if has_landed(met, now):
            return Outcome(tuple(Standing(write.run_id, write.head) for write in writes))
        after = [await self._write(driver, write, header, now) for write, header in met]
        return Outcome(
            tuple(Standing(header.run_id, header.head) for header in after),
            heads={header.run_id: header.head.seq for header in after},
            ready=any(is_ready(header, now) for header in after),
        )

    async def get_run(self, driver: Driver, run_id: RunId) -> RunHeader:
        """The header. Raises `RunNotFound`."""
        header = await self.find(driver, run_id)
        if header is None:
            raise RunNotFound(run_id)
        return header

    async def find(self, driver: Driver, run_id: RunId) -> RunHeader | None:
        """The header, where the Run is stored."""
        rows = await self._sql.header.fetch(driver, {"run_id": run_id})
        return header_of(rows[0]) if rows else None

    async def read(self, driver: Driver, run_id: RunId, after: int, limit: int) -> tuple[Entry, ...]:
        """A page of a log. Raises `RunNotFound`."""
        rows = await self._sql.read.fetch(driver, {"run_id": run_id, "after": after, "limit": limit})
        if not rows:
            await self.get_run(driver, run_id)
        return tuple(map(entry_of, rows))

    async def _extend(self, driver: Driver, writes: Sequence[Write], now: datetime) -> bool:
        """The usual append, of a lease holder that goes on: written at once, unless something is in its way.

        What that is, the stored header tells.
        """
        write = writes[0]
        if len(writes) > 1 or not isinstance(write, Append) or write.change.action is not HeaderAction.KEEP:
            return False
        lease, facts = write.lease, write.change.facts
        if lease is None or facts is None:
            return False
        if not await self._sql.extend.fetch(driver, extension_values(write, lease, facts, now)):
            return False
        await self._insert_entries(driver, write)
        return True

    async def _standing(self, driver: Driver, write: Write) -> RunHeader | None:
        """The stored Run that a write is about: by its id, or by the idempotency key of its tenant."""
        header = await self.find(driver, write.run_id)
        if header is not None or isinstance(write, Append) or write.header.idempotency_key is None:
            return header
        tenant = write.header.scope.tenant
        key = {"tenant": tenant, "key": key_digest(tenant, write.header.idempotency_key)}
        rows = await self._sql.run_of_key.fetch(driver, key)
        return await self.find(driver, rows[0][0]) if rows else None

    async def _write(
        self, driver: Driver, write: Write, header: RunHeader | None, now: datetime
    ) -> RunHeader:
        """Do what was not refused; the header after. An `Admit` of a stored Run changes nothing."""
        if isinstance(write, Append):
            assert header is not None, "an append to no Run was refused"
            after = await self._append(driver, write, header, now)
        elif header is None:
            after = await self._admit(driver, write, now)
        else:
            return header
        await self._insert_entries(driver, write)
        return after

    async def _admit(self, driver: Driver, write: Admit, now: datetime) -> RunHeader:
        header = admitted(write, now)
        await self._sql.insert_run.fetch(driver, run_values(header))
        await self._sql.insert_work.fetch(driver, work_values(header, now))
        if header.idempotency_key is not None:
            tenant = header.scope.tenant
            key = key_digest(tenant, header.idempotency_key)
            await self._sql.insert_key.fetch(driver, {"tenant": tenant, "key": key, "run_id": header.run_id})
        return header

    async def _append(self, driver: Driver, write: Append, header: RunHeader, now: datetime) -> RunHeader:
        after = appended(header, write, now)
        if after.terminal is not None:
            await self._sql.delete_work.fetch(driver, {"of_run": after.run_id})
            await self._sql.settle_run.fetch(driver, settled_values(after))
        elif (after.ready_at, after.lease) == (header.ready_at, header.lease):
            # The usual append: it leaves the columns of the queue, and so their indexes, alone.
            await self._sql.update_log.fetch(driver, log_values(after))
        else:
            await self._sql.update_work.fetch(driver, work_values(after, now))
        return after

    async def _insert_entries(self, driver: Driver, write: Write) -> None:
        for start in range(0, len(write.entries), ENTRIES_AT_ONCE):
            part = write.entries[start : start + ENTRIES_AT_ONCE]
            statement = self._sql.insert_entries(len(part))
            await driver.fetch(statement.sql, entry_params(write.run_id, part))

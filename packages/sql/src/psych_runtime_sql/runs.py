"""Headers and logs: commits, and reading them back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.header import appended
from psych_runtime_core.ports.judge import Met, has_landed
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.writes import Admit, Append, HeaderAction, Write
from psych_runtime_core.records import Entry
from psych_runtime_sql.admissions import Admissions, Standing
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.rows import (
    entry_of,
    extension_values,
    is_ready,
    log_values,
    settled_values,
    work_values,
)
from psych_runtime_sql.statements import Statements
from psych_runtime_sql.texts import Texts

_ENDS_A_LEASE = frozenset({HeaderAction.REST, HeaderAction.SETTLE})


class Runs:
    """Operations on Runs, each inside one transaction of the driver it is given."""

    def __init__(
        self, statements: Statements, admissions: Admissions, lookout: Lookout, texts: Texts
    ) -> None:
        self._sql, self._admissions = statements, admissions
        self._lookout, self._texts = lookout, texts

    async def commit(
        self, driver: Driver, writes: Sequence[Write], now: datetime
    ) -> Outcome[tuple[Standing, ...]]:
        """All writes or none; where each Run stands after. Raises what `Store.commit` says."""
        if await self._extend(driver, writes, now):
            run_id, head = writes[0].run_id, writes[0].head
            return Outcome((Standing(run_id, head),), heads={run_id: head.seq})
        met = [(write, await self._admissions.find(driver, write.run_id)) for write in writes]
        if standing := await self._by_key(driver, met, now):
            return Outcome((standing,))
        if has_landed(met, now):
            return Outcome(tuple(Standing(write.run_id, write.head) for write in writes))
        after = [await self._write(driver, write, header, now) for write, header in met]
        return Outcome(
            tuple(Standing(header.run_id, header.head) for header in after),
            heads={header.run_id: header.head.seq for header in after},
            ready=await self._makes_ready(driver, writes, after, now),
        )

    async def get_run(self, driver: Driver, run_id: RunId) -> RunHeader:
        """The header. Raises `RunNotFound`."""
        header = await self._admissions.find(driver, run_id)
        if header is None:
            raise RunNotFound(run_id)
        return header

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
        await self._admissions.insert_entries(driver, write.run_id, write.entries)
        return True

    async def _by_key(self, driver: Driver, met: Met, now: datetime) -> Standing | None:
        """The Run that answers for a key, which only an admission alone may have."""
        write, header = met[0]
        return await self._admissions.by_key(driver, write, header, now) if isinstance(write, Admit) else None

    async def _makes_ready(
        self, driver: Driver, writes: Sequence[Write], after: Sequence[RunHeader], now: datetime
    ) -> bool:
        """Whether there is more to claim now: a Run that became ready, or a tenant that got room."""
        if any(is_ready(header, now) for header in after):
            return True
        for write, header in zip(writes, after, strict=True):
            if isinstance(write, Append) and write.change.action in _ENDS_A_LEASE:
                return await self._lookout.has_ready_of(driver, header.scope.tenant, now)
        return False

    async def _write(
        self, driver: Driver, write: Write, header: RunHeader | None, now: datetime
    ) -> RunHeader:
        """Do what was not refused; the header after. An `Admit` of a stored Run changes nothing."""
        if isinstance(write, Append):
            assert header is not None, "an append to no Run was refused"
            after = await self._append(driver, write, header, now)
        elif header is None:
            after = await self._admissions.admit(driver, write, now)
        else:
            return header
        await self._admissions.insert_entries(driver, write.run_id, write.entries)
        return after

    async def _append(self, driver: Driver, write: Append, header: RunHeader, now: datetime) -> RunHeader:
        after = appended(header, write, now)
        if after.terminal is not None:
            await self._sql.delete_work.fetch(driver, {"of_run": after.run_id})
            await self._sql.settle_run.fetch(driver, settled_values(after))
            await self._texts.forget(driver, [after.run_id])
        elif (after.ready_at, after.lease) == (header.ready_at, header.lease):
            # The usual append: it leaves the columns of the queue, and so their indexes, alone.
            await self._sql.update_log.fetch(driver, log_values(after))
        else:
            await self._sql.update_work.fetch(driver, work_values(after, now))
        return after

"""Claims, renewals and releases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.claims import Claim, ClaimRequest, Claims, Renewed
from psych_runtime_core.ports.header import claimed, released, renewed
from psych_runtime_core.ports.runs import Lease, RunHeader
from psych_runtime_core.records import Head
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.json_columns import json_array
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.queue import Queue
from psych_runtime_sql.rows import header_of, is_ready, lease_values, micros, work_values
from psych_runtime_sql.statements import Statements


class Leases:
    """Operations on leases, each inside one transaction of the driver it is given."""

    def __init__(self, statements: Statements, lookout: Lookout) -> None:
        self._sql, self._lookout = statements, lookout
        self._queue = Queue(statements)

    async def claim(self, driver: Driver, request: ClaimRequest, now: datetime) -> Outcome[Claims]:
        """What is held under the request, else what the queue gives."""
        if held := await self._held(driver, request, now):
            return Outcome(Claims(held))
        return await self._take(driver, request, now)

    async def renew(
        self, driver: Driver, leases: Sequence[Lease], lease_seconds: float, now: datetime
    ) -> Outcome[tuple[Renewed, ...]]:
        """What becomes of each lease, in order."""
        headers = await self._headers(driver, [lease.run_id for lease in leases])
        answers: list[Renewed] = []
        for lease in leases:
            header = headers.get(lease.run_id)
            after = renewed(header, lease, now, lease_seconds) if header else None
            if after is None or after.lease is None:
                answers.append(Renewed(lease, "lost"))
                continue
            headers[lease.run_id] = after
            end = {"of_run": lease.run_id, "ready": False, "ready_at": micros(after.lease.expires_at)}
            await self._sql.extend_lease.fetch(driver, end)
            answers.append(Renewed(after.lease, "kept", after.head))
        return Outcome(tuple(answers))

    async def release(
        self, driver: Driver, lease: Lease, ready_at: datetime | None, after: Head | None, now: datetime
    ) -> Outcome[None]:
        """Give a Run back. Raises `RunNotFound`, `LeaseLost` and `SeqConflict`."""
        headers = await self._headers(driver, [lease.run_id])
        if lease.run_id not in headers:
            raise RunNotFound(lease.run_id)
        header = released(headers[lease.run_id], lease, now, ready_at, after)
        await self._sql.update_work.fetch(driver, work_values(header, now))
        ready = is_ready(header, now) or await self._lookout.has_ready_of(driver, header.scope.tenant, now)
        return Outcome(None, ready=ready)

    async def _held(self, driver: Driver, request: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        if request.request_id is None:
            return ()
        under = {"worker_id": request.worker_id, "claim_id": request.request_id, "now": micros(now)}
        rows = await self._sql.claimed.fetch(driver, under)
        held = ((header_of(row[:-1]), bool(row[-1])) for row in rows)
        return tuple(Claim(header, header.lease, reclaimed) for header, reclaimed in held if header.lease)

    async def _take(self, driver: Driver, request: ClaimRequest, now: datetime) -> Outcome[Claims]:
        """What the queue gives; who still has room hears when more of what is due is to be made ready."""
        picked = await self._queue.pick(driver, request.worker_id, request.limit, request.only, now)
        headers = await self._headers(driver, picked.run_ids)
        found = (headers[run_id] for run_id in picked.run_ids)
        taken = (claimed(header, request.worker_id, now, request.lease_seconds) for header in found)
        claims = tuple(claim for claim in taken if claim)
        for claim in claims:
            await self._sql.take_lease.fetch(driver, lease_values(claim, request.request_id))
        return Outcome(Claims(claims, picked.more), ready=picked.due)

    async def _headers(self, driver: Driver, run_ids: Sequence[RunId]) -> dict[RunId, RunHeader]:
        if not run_ids:
            return {}
        rows = await self._sql.headers.fetch(driver, {"run_ids": json_array(run_ids)})
        return {header.run_id: header for header in map(header_of, rows)}

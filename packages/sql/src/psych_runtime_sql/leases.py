"""Claims, renewals and releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.header import claimed, released, renewed
from psych_runtime_core.ports.store import Claim, ClaimFilter, Claims, Lease, Renewed, RunHeader
from psych_runtime_core.records import Head
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.queue import Queue
from psych_runtime_sql.rows import header_of, is_ready, json_array, micros, work_values
from psych_runtime_sql.statements import Statements


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a Worker asks for."""

    worker_id: WorkerId
    limit: int
    lease_seconds: float
    only: ClaimFilter
    request_id: str | None


class Leases:
    """Operations on leases, each inside one transaction of the driver it is given."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements
        self._queue = Queue(statements)

    async def claim(self, driver: Driver, request: ClaimRequest, now: datetime) -> Outcome[Claims]:
        """What is held under the request, else what the queue gives."""
        held = await self._held(driver, request, now)
        return Outcome(Claims(held or await self._take(driver, request, now)))

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
            end = {"of_run": lease.run_id, "ready_at": micros(after.lease.expires_at)}
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
        return Outcome(None, ready=is_ready(header, now))

    async def _held(self, driver: Driver, request: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        if request.request_id is None:
            return ()
        under = {"worker_id": request.worker_id, "claim_id": request.request_id, "now": micros(now)}
        rows = await self._sql.claimed.fetch(driver, under)
        held = ((header_of(row[:-1]), bool(row[-1])) for row in rows)
        return tuple(Claim(header, header.lease, reclaimed) for header, reclaimed in held if header.lease)

    async def _take(self, driver: Driver, request: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        picked = await self._queue.pick(driver, request.worker_id, request.limit, request.only, now)
        headers = await self._headers(driver, picked)
        taken = (claimed(headers[run_id], request.worker_id, now, request.lease_seconds) for run_id in picked)
        claims = tuple(claim for claim in taken if claim)
        for claim in claims:
            values = work_values(claim.header, now, claim_id=request.request_id, expired=claim.reclaimed)
            await self._sql.update_work.fetch(driver, values)
        return claims

    async def _headers(self, driver: Driver, run_ids: Sequence[RunId]) -> dict[RunId, RunHeader]:
        if not run_ids:
            return {}
        rows = await self._sql.headers.fetch(driver, {"run_ids": json_array(run_ids)})
        return {header.run_id: header for header in map(header_of, rows)}

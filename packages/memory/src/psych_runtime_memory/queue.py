"""Who is claimed next: Runs to be looked at later by time, ready ones by tenant, Version and priority."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.store import ClaimFilter, RunHeader
from psych_runtime_memory.heap import RunHeap


@dataclass(frozen=True, slots=True)
class Asked:
    """What a claim asks for."""

    worker_id: WorkerId
    limit: int
    lease_seconds: float
    only: ClaimFilter
    request_id: str | None


Place = tuple[int, datetime]
"""A Run's place in its tenant: higher priorities first, then who became ready earlier."""


class RunQueue:
    """The `ready_at` of Runs, indexed. It reads `headers` and never changes them."""

    def __init__(self, headers: Mapping[RunId, RunHeader]) -> None:
        self._headers = headers
        self._later: RunHeap[datetime] = RunHeap()
        self._ready: dict[str, dict[VersionHash, RunHeap[Place]]] = {}
        self._tenants: list[str] = []
        self._served: dict[WorkerId, str] = {}

    def place(self, before: RunHeader | None, after: RunHeader, now: datetime) -> bool:
        """Move a Run to where its new header belongs; whether that makes it ready."""
        was_ready = before is not None and self._take(before)
        if after.ready_at is None:
            return False
        if after.ready_at > now:
            self._later.put(after.run_id, after.ready_at)
            return False
        self._put_ready(after, after.ready_at)
        return not was_ready

    def pick(self, asked: Asked, now: datetime) -> list[RunHeader]:
        """The ready Runs that are next for this Worker, tenants in turn. They keep their places."""
        self._promote(now)
        picked: list[RunHeader] = []
        aside: list[RunHeader] = []
        turns = self._turns(asked.worker_id)
        while turns and len(picked) < asked.limit:
            tenant = turns.popleft()
            header = self._first(tenant, asked.only.skip_versions)
            if header is None:
                continue
            self._take(header)
            aside.append(header)
            if header.run_id in asked.only.exclude:
                turns.appendleft(tenant)
            else:
                picked.append(header)
                turns.append(tenant)
                self._served[asked.worker_id] = tenant
        for header in aside:
            self.place(None, header, now)
        return picked

    def _promote(self, now: datetime) -> None:
        while (first := self._later.first()) and first[0] <= now:
            ready_at, run_id = first
            self._later.take(run_id)
            self._put_ready(self._headers[run_id], ready_at)

    def _turns(self, worker_id: WorkerId) -> deque[str]:
        """Tenants with ready work, beginning after the one this Worker served last."""
        after = bisect_right(self._tenants, self._served.get(worker_id, ""))
        return deque(self._tenants[after:] + self._tenants[:after])

    def _first(self, tenant: str, skipped: frozenset[VersionHash]) -> RunHeader | None:
        versions = self._ready.get(tenant, {})
        firsts = [first for version in versions.keys() - skipped if (first := versions[version].first())]
        return self._headers[min(firsts)[1]] if firsts else None

    def _put_ready(self, header: RunHeader, ready_at: datetime) -> None:
        tenant = header.scope.tenant
        if tenant not in self._ready:
            self._ready[tenant] = {}
            insort(self._tenants, tenant)
        heap = self._ready[tenant].setdefault(header.version_hash, RunHeap())
        heap.put(header.run_id, (-header.priority, ready_at))

    def _take(self, header: RunHeader) -> bool:
        """Take a Run out of where its header put it; whether it was ready there."""
        versions = self._ready.get(header.scope.tenant, {})
        heap = versions.get(header.version_hash)
        if heap is None or not heap.take(header.run_id):
            self._later.take(header.run_id)
            return False
        if not heap:
            del versions[header.version_hash]
        if not versions:
            del self._ready[header.scope.tenant]
            del self._tenants[bisect_left(self._tenants, header.scope.tenant)]
        return True

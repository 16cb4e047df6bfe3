"""Who is claimed next: Runs to be looked at later by time, ready ones by tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.claims import ClaimRequest
from psych_runtime_core.ports.runs import RunHeader, RunState
from psych_runtime_memory.heap import Heap
from psych_runtime_memory.ready import ReadyRuns

Standing = tuple[str, RunState, bool]
"""Of which tenant an open Run is, its state, and whether its `ready_at` has come."""


class RunQueue:
    """The `ready_at` of Runs, indexed, and how many stand how. It reads `headers` and never changes them."""

    def __init__(self, headers: Mapping[RunId, RunHeader]) -> None:
        self._headers = headers
        self._later: Heap[datetime, RunId] = Heap()
        self._served: dict[WorkerId, str] = {}
        self._now = datetime.min.replace(tzinfo=UTC)
        self.ready = ReadyRuns(headers)
        self.counts: Counter[Standing] = Counter()

    def place(self, before: RunHeader | None, after: RunHeader, now: datetime) -> bool:
        """Move a Run to where its new header belongs; whether that makes it ready."""
        was_ready = before is not None and self._take(before) and _has_come(before.ready_at, now)
        # Not before it is out: `headers` has its new one already, by which it was never placed.
        self._follow(now)
        ready_at = after.ready_at
        is_ready = _has_come(ready_at, now)
        if after.terminal is None:
            self.counts[_standing(after, is_ready)] += 1
        if ready_at is not None and is_ready:
            self.ready.put(after, ready_at)
        elif ready_at is not None:
            self._later.put(after.run_id, ready_at)
        return is_ready and not was_ready

    def has_ready(self, tenant: str, now: datetime) -> bool:
        """Whether a Run of `tenant` may be claimed."""
        self.promote(now)
        return self.ready.has(tenant)

    def promote(self, now: datetime) -> None:
        """Make ready what has become due."""
        self._follow(now)
        while (first := self._later.first()) and first[0] <= now:
            ready_at, run_id = first
            header = self._headers[run_id]
            self._later.take(run_id)
            self.ready.put(header, ready_at)
            self._count(header, is_ready=True)

    def _follow(self, now: datetime) -> None:
        """What was ready by a clock that has fallen back since is to be looked at later again."""
        if now < self._now:
            for header, ready_at in self.ready.behind(now):
                self.ready.take(header)
                self._later.put(header.run_id, ready_at)
                self._count(header, is_ready=False)
        self._now = now

    def picks(self, asked: ClaimRequest, now: datetime) -> Iterator[RunHeader]:
        """The Runs that are next for this Worker, tenants in turn: each to be claimed before the next."""
        self.promote(now)
        with self._without(asked.only.exclude):
            for _ in range(asked.limit):
                tenant = self._next(asked, capped=False)
                header = tenant and self.ready.first(tenant, asked.only.skip_versions)
                if not tenant or not header:
                    return
                self._served[asked.worker_id] = tenant
                yield header

    def has_capped(self, asked: ClaimRequest, now: datetime) -> bool:
        """Whether work is left that is asked for, of a tenant that has no room."""
        self.promote(now)
        with self._without(asked.only.exclude):
            return self._next(asked, capped=True) is not None

    def _next(self, asked: ClaimRequest, *, capped: bool) -> str | None:
        """The first tenant in turn that has work to be asked for and is at its cap, or is not."""
        only = asked.only
        for tenant in self.ready.turns(self._served.get(asked.worker_id, ""), only.tenants):
            cap = only.cap_of(tenant)
            at_cap = cap is not None and self.counts[tenant, RunState.RUNNING, False] >= cap
            if at_cap is capped and self.ready.first(tenant, only.skip_versions):
                return tenant
        return None

    @contextmanager
    def _without(self, exclude: frozenset[RunId]) -> Generator[None]:
        """Within the block these Runs are not ready; behind it they have their places again."""
        headers = [self._headers[run_id] for run_id in exclude if run_id in self._headers]
        aside = [header for header in headers if self.ready.take(header)]
        try:
            yield
        finally:
            for header in aside:
                if header.ready_at is not None:
                    self.ready.put(header, header.ready_at)

    def _take(self, header: RunHeader) -> bool:
        """Take a Run out of where its header put it; whether it was ready there."""
        was_ready = self.ready.take(header)
        self._later.take(header.run_id)
        if header.terminal is None:
            self._forget(_standing(header, was_ready))
        return was_ready

    def _count(self, header: RunHeader, *, is_ready: bool) -> None:
        """Count a Run as ready, or as not, that was counted as the other."""
        self._forget(_standing(header, not is_ready))
        self.counts[_standing(header, is_ready)] += 1

    def _forget(self, standing: Standing) -> None:
        self.counts[standing] -= 1
        if not self.counts[standing]:
            del self.counts[standing]


def _has_come(ready_at: datetime | None, now: datetime) -> bool:
    return ready_at is not None and ready_at <= now


def _standing(header: RunHeader, is_ready: bool) -> Standing:
    return header.scope.tenant, header.state, is_ready

"""Headers, logs and keys in dicts. Nothing here waits: each call is one whole step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.checks import MAX_PAGE_BYTES
from psych_runtime_core.ports.claims import Claim, ClaimRequest, Claims, Renewed
from psych_runtime_core.ports.header import admitted, appended, claimed, released, renewed, scrubbed
from psych_runtime_core.ports.judge import has_landed
from psych_runtime_core.ports.queries import Page, RunQuery
from psych_runtime_core.ports.reports import StoreStats
from psych_runtime_core.ports.runs import Lease, RunHeader
from psych_runtime_core.ports.writes import Admit, Append, Write
from psych_runtime_core.records import Entry, Head
from psych_runtime_memory.keys import Keys
from psych_runtime_memory.live import InMemoryLive
from psych_runtime_memory.queue import RunQueue
from psych_runtime_memory.requests import ClaimRequests
from psych_runtime_memory.shelves import Shelves
from psych_runtime_memory.stats import stats_of
from psych_runtime_memory.trees import purgeable
from psych_runtime_memory.watches import Watches


class Runs:
    """All Runs of a store. Arguments were checked before; `now` is the store's time."""

    def __init__(self, headers: dict[RunId, RunHeader], watches: Watches, live: InMemoryLive) -> None:
        self._headers, self._watches, self._live = headers, watches, live
        self._logs: dict[RunId, list[Entry]] = {}
        self._keys = Keys()
        self._shelves = Shelves(headers)
        self._queue = RunQueue(headers)
        self._requests = ClaimRequests()

    def header(self, run_id: RunId) -> RunHeader:
        if run_id not in self._headers:
            raise RunNotFound(run_id)
        return self._headers[run_id]

    def find(self, query: RunQuery, cursor: str | None) -> Page[RunHeader]:
        return self._shelves.page(query, cursor)

    def stats(self, tenant: str | None, top: int, now: datetime) -> StoreStats:
        return stats_of(self._queue, now, tenant, top)

    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        met = [(write, self._headers.get(write.run_id)) for write in writes]
        if (answers := self._by_key(*met[0], now)) is not None:
            return (self._headers[answers].head if answers in self._headers else writes[0].head,)
        if has_landed(met, now):
            return tuple(write.head for write in writes)
        return tuple(self._write(write, now) for write in writes)

    def admit(self, write: Admit, now: datetime) -> RunId:
        """Commit `write` alone; the id of the Run that stands."""
        self.commit([write], now)
        return self._standing(write, now) or write.run_id

    def read(self, run_id: RunId, after: int, limit: int) -> tuple[Entry, ...]:
        self.header(run_id)
        page = self._logs[run_id][after : after + limit]
        size = 0
        for count, entry in enumerate(page):
            size += len(entry.body)
            if size > MAX_PAGE_BYTES:
                return tuple(page[:count])
        return tuple(page)

    def claim(self, asked: ClaimRequest, now: datetime) -> Claims:
        if held := self._held(asked, now):
            return Claims(held)
        claims = self._claim(asked, now)
        return Claims(claims, more=len(claims) < asked.limit and self._queue.has_capped(asked, now))

    def renew(self, lease: Lease, lease_seconds: float, now: datetime) -> Renewed:
        header = self._headers.get(lease.run_id)
        after = renewed(header, lease, now, lease_seconds) if header else None
        if after is None or after.lease is None:
            return Renewed(lease, "lost")
        self._keep(after, now)
        return Renewed(after.lease, "kept", after.head)

    def release(self, lease: Lease, ready_at: datetime | None, after: Head | None, now: datetime) -> None:
        self._keep(released(self.header(lease.run_id), lease, now, ready_at, after), now)

    def purge(self, query: RunQuery, now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        gone = purgeable(self._shelves, query)
        for header in () if dry_run else gone:
            self._keys.date(header.run_id, now)
            self._live.drop(header.run_id)
            self._shelves.move(header, None)
            del self._headers[header.run_id], self._logs[header.run_id]
        return gone

    def erase(self, query: RunQuery, now: datetime) -> int:
        meant = [each for each in self._shelves.matching(query) if each.terminal and not each.erased]
        for header in meant:
            self._keys.date(header.run_id, now)
            self._keep(scrubbed(header), now)
        return len(meant)

    def _held(self, asked: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        """What is leased already under the same request."""
        claims = self._requests.held(asked)
        return tuple(claim for claim in claims if now < claim.lease.expires_at)

    def _claim(self, asked: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        claims: list[Claim] = []
        for header in self._queue.picks(asked, now):
            if claim := claimed(header, asked.worker_id, now, asked.lease_seconds):
                self._keep(claim.header, now)
                self._requests.note(asked, claim)
                claims.append(claim)
        return tuple(claims)

    def _standing(self, write: Admit, now: datetime) -> RunId | None:
        """The Run that an admission finds: by its id, or by the idempotency key of its tenant."""
        header = self._headers.get(write.run_id)
        return self._by_key(write, header, now) or (header.run_id if header else None)

    def _by_key(self, write: Write, header: RunHeader | None, now: datetime) -> RunId | None:
        """Who answers for the key of an admission, which it alone may have. `header`: the Run of its id.

        Raises `IdempotencyConflict`.
        """
        if isinstance(write, Append) or not (header is None or header.erased):
            return None
        return self._keys.judge(write.header, now)

    def _write(self, write: Write, now: datetime) -> Head:
        """Do what was not refused. An `Admit` of a Run that stands changes nothing."""
        if isinstance(write, Append):
            self._keep(appended(self.header(write.run_id), write, now), now)
        elif write.run_id in self._headers:
            return self._headers[write.run_id].head
        else:
            self._admit(write, now)
        self._logs[write.run_id].extend(write.entries)
        return write.head

    def _admit(self, write: Admit, now: datetime) -> None:
        header = admitted(write, now)
        self._logs[write.run_id] = []
        self._keys.note(header, now)
        self._keep(header, now)

    def _keep(self, header: RunHeader, now: datetime) -> None:
        """Every change of a header comes through here."""
        before = self._headers.get(header.run_id)
        self._headers[header.run_id] = header
        self._requests.follow(header)
        is_ready = self._queue.place(before, header, now)
        if is_ready or (_gave_back(before, header) and self._queue.has_ready(header.scope.tenant, now)):
            self._watches.tell_ready()
        if before is None or before.head != header.head:
            self._watches.tell_changed(header.run_id, header.head.seq)
        if before is None or (before.terminal, before.erased) != (header.terminal, header.erased):
            self._shelves.move(before, header)
        if header.terminal:
            self._live.drop(header.run_id)


def _gave_back(before: RunHeader | None, after: RunHeader) -> bool:
    """Whether a lease ended: a tenant that was at its cap has room again."""
    return before is not None and before.lease is not None and after.lease is None

"""Headers, logs and keys in dicts. Nothing here waits: each call is one whole step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.checks import MAX_PAGE_BYTES
from psych_runtime_core.ports.header import admitted, appended, claimed, released, renewed
from psych_runtime_core.ports.judge import has_landed
from psych_runtime_core.ports.store import Admit, Append, Claim, Lease, Renewed, RunHeader, Write
from psych_runtime_core.records import Entry, Head
from psych_runtime_memory.queue import Asked, RunQueue
from psych_runtime_memory.requests import ClaimRequests
from psych_runtime_memory.watches import Watches


class Runs:
    """All Runs of a store. Arguments were checked before; `now` is the store's time."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._headers: dict[RunId, RunHeader] = {}
        self._logs: dict[RunId, list[Entry]] = {}
        self._keys: dict[tuple[str, str | None], RunId] = {}
        self._queue = RunQueue(self._headers)
        self._requests = ClaimRequests()

    def header(self, run_id: RunId) -> RunHeader:
        if run_id not in self._headers:
            raise RunNotFound(run_id)
        return self._headers[run_id]

    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        met = [(write, self._standing(write)) for write in writes]
        if has_landed(met, now):
            return tuple(write.head for write in writes)
        return tuple(self._write(write, now) for write in writes)

    def admit(self, write: Admit, now: datetime) -> RunId:
        """Commit `write` alone; the id of the Run that stands."""
        self.commit([write], now)
        standing = self._standing(write)
        return standing.run_id if standing else write.run_id

    def read(self, run_id: RunId, after: int, limit: int) -> tuple[Entry, ...]:
        self.header(run_id)
        page = self._logs[run_id][after : after + limit]
        size = 0
        for count, entry in enumerate(page):
            size += len(entry.body)
            if size > MAX_PAGE_BYTES:
                return tuple(page[:count])
        return tuple(page)

    def claim(self, asked: Asked, now: datetime) -> tuple[Claim, ...]:
        return self._held(asked, now) or self._claim(asked, now)

    def renew(self, lease: Lease, lease_seconds: float, now: datetime) -> Renewed:
        header = self._headers.get(lease.run_id)
        after = renewed(header, lease, now, lease_seconds) if header else None
        if after is None or after.lease is None:
            return Renewed(lease, "lost")
        self._keep(after, now)
        return Renewed(after.lease, "kept", after.head)

    def release(self, lease: Lease, ready_at: datetime | None, after: Head | None, now: datetime) -> None:
        self._keep(released(self.header(lease.run_id), lease, now, ready_at, after), now)

    def _held(self, asked: Asked, now: datetime) -> tuple[Claim, ...]:
        """What is leased already under the same request."""
        claims = self._requests.held(asked)
        return tuple(claim for claim in claims if now < claim.lease.expires_at)

    def _claim(self, asked: Asked, now: datetime) -> tuple[Claim, ...]:
        claims: list[Claim] = []
        for header in self._queue.pick(asked, now):
            if claim := claimed(header, asked.worker_id, now, asked.lease_seconds):
                self._keep(claim.header, now)
                self._requests.note(asked, claim)
                claims.append(claim)
        return tuple(claims)

    def _standing(self, write: Write) -> RunHeader | None:
        """The stored Run that a write is about: by its id, or by the idempotency key of its tenant."""
        run_id = write.run_id
        if isinstance(write, Admit) and run_id not in self._headers:
            run_id = self._keys.get((write.header.scope.tenant, write.header.idempotency_key), run_id)
        return self._headers.get(run_id)

    def _write(self, write: Write, now: datetime) -> Head:
        """Do what was not refused. An `Admit` of a stored Run changes nothing."""
        if isinstance(write, Append):
            self._keep(appended(self.header(write.run_id), write, now), now)
        elif standing := self._standing(write):
            return standing.head
        else:
            self._admit(write, now)
        self._logs[write.run_id].extend(write.entries)
        return write.head

    def _admit(self, write: Admit, now: datetime) -> None:
        header = admitted(write, now)
        self._logs[write.run_id] = []
        if header.idempotency_key is not None:
            self._keys[header.scope.tenant, header.idempotency_key] = write.run_id
        self._keep(header, now)

    def _keep(self, header: RunHeader, now: datetime) -> None:
        """Every change of a header comes through here."""
        before = self._headers.get(header.run_id)
        self._headers[header.run_id] = header
        self._requests.follow(header)
        ready = self._queue.place(before, header, now)
        if ready:
            self._watches.tell_ready()
        if before is None or before.head != header.head:
            self._watches.tell_changed(header.run_id, header.head.seq)

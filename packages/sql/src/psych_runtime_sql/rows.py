"""Rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.claims import Claim
from psych_runtime_core.ports.header import Move, due
from psych_runtime_core.ports.runs import HeaderFacts, Lease, RunHeader, Waits
from psych_runtime_core.ports.writes import Append
from psych_runtime_core.records import Entry, Head
from psych_runtime_core.scope import Scope
from psych_runtime_sql.driver import Row
from psych_runtime_sql.statements import HEADER_COLUMNS

Values = dict[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(at: datetime) -> int:
    """An aware instant in microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """The instant, in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


# --- headers -----------------------------------------------------------------------------------------


def header_of(row: Row) -> RunHeader:
    """The header in a row of `HEADER_COLUMNS`."""
    found: dict[str, Any] = dict(zip(HEADER_COLUMNS, row, strict=False))
    found["scope"] = _scope(found.pop("tenant"), found.pop("principal"), found.pop("labels"))
    found["head"] = Head(found.pop("head_seq"), found.pop("head_digest"))
    found["waits"] = json.loads(found["waits"])
    for name in ("created_at", "settled_at", "deadline_at", "ready_at"):
        found[name] = _optional_instant(found[name])
    found["lease"] = _lease(found["run_id"], found.pop("worker_id"), found["epoch"], found["ready_at"])
    return RunHeader.model_validate(found)


def run_values(header: RunHeader) -> Values:
    """The row of `psych_run` at admission."""
    scope = header.scope
    return {
        "run_id": header.run_id,
        "tenant": scope.tenant,
        "principal": scope.principal,
        "labels": json.dumps(dict(scope.labels), ensure_ascii=False),
        "name": header.name,
        "request": header.request,
        "idempotency_key": header.idempotency_key,
        "priority": header.priority,
        "parent_run_id": header.parent_run_id,
        "root_run_id": header.root_run_id,
        "delegation_depth": header.delegation_depth,
        "continues_run_id": header.continues_run_id,
        "created_at": micros(header.created_at),
        "erased": header.erased,
    }


def log_values(header: RunHeader) -> Values:
    """The columns that say where a log stands and what it says."""
    return {
        "of_run": header.run_id,
        "head_seq": header.head.seq,
        "head_digest": header.head.digest,
        "epoch": header.epoch,
        "crashes": header.crashes,
        **_fact_values(header),
    }


def extension_values(write: Append, lease: Lease, facts: HeaderFacts, now: datetime) -> Values:
    """What the holder's append guards on, and what it leaves."""
    head = write.head
    return {
        "of_run": write.run_id,
        "after_seq": write.after.seq,
        "after_digest": write.after.digest,
        "of_worker": lease.worker_id,
        "of_epoch": lease.epoch,
        "now": micros(now),
        "head_seq": head.seq,
        "head_digest": head.digest,
        "crashes_kept": not write.change.progress,
        **_fact_values(facts),
    }


def work_values(header: RunHeader, now: datetime) -> Values:
    """The row of `psych_work`, whoever held it before."""
    lease = header.lease
    return log_values(header) | {
        "run_id": header.run_id,
        "tenant": header.scope.tenant,
        "created_at": micros(header.created_at),
        "priority": header.priority,
        "ready": is_ready(header, now),
        "ready_at": _optional_micros(header.ready_at),
        "worker_id": lease.worker_id if lease else None,
        "claim_id": None,
        "expired": False,
    }


def lease_values(claim: Claim, claim_id: str | None) -> Values:
    """What a claim leaves in the row of `psych_work`."""
    return {
        "of_run": claim.header.run_id,
        "epoch": claim.lease.epoch,
        "crashes": claim.header.crashes,
        "ready": False,
        "ready_at": micros(claim.lease.expires_at),
        "worker_id": claim.lease.worker_id,
        "claim_id": claim_id,
        "expired": claim.reclaimed,
    }


def settled_values(header: RunHeader) -> Values:
    """What `psych_run` learns at the end."""
    settled_at, terminal = _optional_micros(header.settled_at), header.terminal
    return log_values(header) | {"settled_at": settled_at, "terminal": terminal.value if terminal else None}


def is_ready(header: RunHeader, now: datetime) -> bool:
    """Whether it may be claimed at once, and no lease has to expire first."""
    return header.lease is None and due(Move(header, now))


@lru_cache(maxsize=256)
def _scope(tenant: str, principal: str | None, labels: str) -> Scope:
    """Every header of a tenant's Runs needs it, and it is the dearest part to make."""
    return Scope(tenant=tenant, principal=principal, labels=json.loads(labels))


def _lease(run_id: RunId, worker_id: Any, epoch: int, expires_at: Any) -> Lease | None:
    return None if worker_id is None else Lease(run_id, worker_id, epoch, expires_at)


def _fact_values(facts: RunHeader | HeaderFacts) -> Values:
    return {
        "version_hash": facts.version_hash,
        "deadline_at": _optional_micros(facts.deadline_at),
        "parked": facts.parked,
        "waits": _waits(facts.waits),
        "pending": facts.pending,
        "stopping": facts.stopping,
        "blobs": facts.blobs,
        "attempt_count": facts.attempt_count,
    }


def _waits(waits: Waits) -> str:
    return json.dumps([(reason.value, seq) for reason, seq in waits]) if waits else "[]"


def _optional_micros(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def _optional_instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else instant(microseconds)


# --- entries -----------------------------------------------------------------------------------------


def entry_of(row: Row) -> Entry:
    """The entry in a row of a page."""
    seq, kind, at, epoch, body, digest = row
    return Entry(seq, kind, instant(at), epoch, body, digest)


def entry_params(run_id: RunId, entries: Sequence[Entry]) -> list[object]:
    """The parameters of `Statements.insert_entries`."""
    params: list[object] = []
    for entry in entries:
        params += (run_id, entry.seq, entry.type, micros(entry.at), entry.epoch, entry.body, entry.digest)
    return params

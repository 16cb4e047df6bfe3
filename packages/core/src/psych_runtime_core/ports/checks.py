"""What is wrong with a call on a store before the store is asked. Adapters call these first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from psych_runtime_core.errors import EntryTooLarge
from psych_runtime_core.ports.claims import ClaimFilter, ClaimRequest
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import NOW
from psych_runtime_core.ports.writes import Admit, Append, HeaderAction, Write
from psych_runtime_core.records import MAX_BODY_BYTES, MAX_COMMIT_BYTES, Entry, Head

MAX_WRITES = 16
# The largest integer that a database keeps.
MAX_SEQ = 2**63 - 1
MAX_VERSION_BYTES = 5 * 1024 * 1024
MAX_PAGE_BYTES = 8 * 1024 * 1024
"""Where a page of entries ends early. It is more than a body may have, so no page is empty."""
SEAL_BYTES = 64 * 1024
"""What a sealing codec may add to a body."""

_HOLDER_ACTIONS = frozenset({HeaderAction.REST, HeaderAction.SETTLE})


def check_commit(writes: Sequence[Write]) -> None:
    """Raise `ValueError` for a malformed commit, `EntryTooLarge` for one over its size."""
    _require(1 <= len(writes) <= MAX_WRITES, f"a commit has 1 to {MAX_WRITES} writes, this one {len(writes)}")
    _require(len({write.run_id for write in writes}) == len(writes), "a commit writes to a Run once")
    for write in writes:
        if isinstance(write, Admit):
            _check_admit(write, alone=len(writes) == 1)
        else:
            _check_append(write)
    if len(writes) > 1 or isinstance(writes[0], Append):
        _check_size(writes)


def fits_one_commit(write: Admit) -> bool:
    """Whether an admission is small enough for one commit. A longer past is stored in pieces."""
    return commit_bytes([write]) <= commit_limit([write])


def commit_bytes(writes: Sequence[Write]) -> int:
    """The bodies of a commit, in bytes."""
    return sum(len(entry.body) for write in writes for entry in write.entries)


def commit_limit(writes: Sequence[Write]) -> int:
    """What its bodies may have, sealed as they are."""
    return MAX_COMMIT_BYTES + SEAL_BYTES * sum(len(write.entries) for write in writes)


def check_version(encoded: bytes) -> None:
    """Raise `EntryTooLarge` for a Version over its size."""
    if len(encoded) > MAX_VERSION_BYTES:
        raise EntryTooLarge("a Version", len(encoded), MAX_VERSION_BYTES)


def check_read(after: int, limit: int) -> None:
    """Raise `ValueError` for a page that no log has."""
    _require(0 <= after <= MAX_SEQ, f"a log is read after a seq of 0 or more, not {after}")
    _require(1 <= limit <= 10_000, f"a page has 1 to 10000 entries, not {limit}")


def check_claim(request: ClaimRequest) -> None:
    """Raise `ValueError` for a claim out of bounds."""
    named = request.request_id
    _require(1 <= request.limit <= 100, f"a claim takes 1 to 100 Runs, not {request.limit}")
    check_lease_seconds(request.lease_seconds)
    check_filter(request.only)
    _require(named is None or 1 <= len(named) <= 64, "a request_id has 1 to 64 characters")


def check_filter(only: ClaimFilter) -> None:
    """Raise `ValueError` for more names than a filter has, and for a cap that lets nothing run."""
    sets = {"tenants": only.tenants or (), "skip_versions": only.skip_versions, "exclude": only.exclude}
    for name, members in sets.items():
        _require(len(members) <= 1_000, f"{name} has at most 1000 members, not {len(members)}")
    caps = only.tenant_concurrency
    numbers = caps.values() if isinstance(caps, Mapping) else () if caps is None else (caps,)
    for cap in numbers:
        _require(cap >= 1, f"a tenant may have 1 or more Runs leased at once, not {cap}")


def check_lease_seconds(lease_seconds: float) -> None:
    """Raise `ValueError` for a lease out of bounds."""
    _require(1 <= lease_seconds <= 3_600, f"a lease lasts 1 to 3600 seconds, not {lease_seconds}")


def check_release(ready_at: datetime | None, after: Head | None) -> None:
    """Raise `ValueError` for a release that could lose a wake-up."""
    _require(ready_at == NOW or after is not None, "a release until later names the head it was decided on")
    _check_aware(ready_at, "ready_at")


def check_conditions(query: RunQuery) -> None:
    """Raise `ValueError` for a query that means every Run: nobody removes those by leaving something out."""
    _require(bool(query.conditions), "a query without conditions matches every Run; name what is to go")


def check_stats(top: int) -> None:
    """Raise `ValueError` for a number of tenants that no statistics have."""
    _require(0 <= top <= 1_000, f"stats name 0 to 1000 tenants, not {top}")


def _check_size(writes: Sequence[Write]) -> None:
    size, limit = commit_bytes(writes), commit_limit(writes)
    if size > limit:
        raise EntryTooLarge(f"a commit on {', '.join(write.run_id for write in writes)}", size, limit)


def _check_admit(write: Admit, *, alone: bool) -> None:
    header, run_id = write.header, write.run_id
    _require(bool(write.entries), f"{run_id}: an admission has entries")
    _require(header.head == write.head, f"{run_id}: the header's head is the last entry of its log")
    _require(header.lease is None and not header.erased, f"{run_id}: a new Run is nobody's and not erased")
    _require(
        (header.terminal is None) == (header.settled_at is None),
        f"{run_id}: what is settled has a terminal state and an instant",
    )
    _require(
        header.ready_at is None or (header.terminal is None and header.epoch == 0),
        f"{run_id}: a Run with a past is settled, or waits to be woken",
    )
    _require(
        alone or header.idempotency_key is None, f"{run_id}: an idempotency key stands in a commit alone"
    )
    highest = max((entry.epoch for entry in write.entries), default=0)
    _require(header.epoch >= highest, f"{run_id}: its epoch is {header.epoch}, an entry's {highest}")
    _check_entries(write, epoch=None, settles=header.terminal is not None)


def _check_append(write: Append) -> None:
    run_id, change, lease = write.run_id, write.change, write.lease
    action = change.action
    if lease is None:
        _require(action not in _HOLDER_ACTIONS, f"{run_id}: {action} needs a lease")
        _require(not change.progress, f"{run_id}: progress needs a lease")
    else:
        _require(action is not HeaderAction.WAKE, f"{run_id}: a lease holder wakes nobody")
        _require(lease.run_id == run_id, f"{run_id}: the lease is of {lease.run_id}")
    settles, rests = action is HeaderAction.SETTLE, action is HeaderAction.REST
    _require(bool(write.entries) or rests, f"{run_id}: only a resting append may be empty")
    _require(
        settles == (change.terminal is not None),
        f"{run_id}: settle, and nothing else, names a terminal state",
    )
    _require(rests or change.ready_at is None, f"{run_id}: only a resting append says when to look again")
    _check_aware(change.ready_at, f"{run_id}: ready_at")
    _check_aware(change.facts.deadline_at if change.facts else None, f"{run_id}: deadline_at")
    _check_entries(write, epoch=lease.epoch if lease else 0, settles=settles)


def _check_entries(write: Write, *, epoch: int | None, settles: bool) -> None:
    """`epoch` is the writer's; None: a past keeps the epochs it had."""
    for seq, entry in enumerate(write.entries, write.after.seq + 1):
        _check_entry(entry, f"{write.run_id}, entry {entry.seq}", seq, epoch)
    settling = [entry.type == "run_settled" for entry in write.entries]
    _require(
        not any(settling[:-1]) and settles == (settling[-1:] == [True]),
        f"{write.run_id}: run_settled is the last entry of what settles a Run, and of nothing else",
    )


def _check_entry(entry: Entry, where: str, seq: int, epoch: int | None) -> None:
    _require(entry.seq == seq, f"{where}: seq {seq} comes here")
    _require(
        epoch is None or entry.epoch == epoch, f"{where}: its epoch is {entry.epoch}, its writer's {epoch}"
    )
    _require(len(entry.digest) == 32, f"{where}: a digest has 32 bytes")
    _check_aware(entry.at, f"{where}: at")
    if len(entry.body) > MAX_BODY_BYTES + SEAL_BYTES:
        raise EntryTooLarge(where, len(entry.body), MAX_BODY_BYTES + SEAL_BYTES)


def _check_aware(at: datetime | None, name: str) -> None:
    _require(at is None or at.utcoffset() is not None, f"{name} must be an aware instant; give it a timezone")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)

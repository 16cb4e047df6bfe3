"""The header of a Run as a state machine: what each operation needs, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum

from psych_runtime_core.errors import LeaseLost, SeqConflict
from psych_runtime_core.ids import WorkerId
from psych_runtime_core.ports.claims import Claim
from psych_runtime_core.ports.runs import HeaderFacts, Lease, RunHeader
from psych_runtime_core.ports.writes import Admit, Append
from psych_runtime_core.records import Head
from psych_runtime_core.scope import Scope


class Operation(StrEnum):
    """What moves a stored header. The middle four are the actions of an append."""

    CLAIM = "claim"
    RENEW = "renew"
    KEEP = "keep"
    WAKE = "wake"
    REST = "rest"
    SETTLE = "settle"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Move:
    """What a transition is computed from: the stored header, the store's time, what the caller gave.

    `lease` is the one the caller names; of a claim and a renewal, the one asked for.
    """

    header: RunHeader
    now: datetime
    lease: Lease | None = None
    ready_at: datetime | None = None


# --- allowed when ------------------------------------------------------------------------------------


def due(move: Move) -> bool:
    """Unsettled, and its `ready_at` has come."""
    ready_at = move.header.ready_at
    return move.header.terminal is None and ready_at is not None and ready_at <= move.now


def live(move: Move) -> bool:
    """The lease named is the one that stands, and has not expired."""
    held, named = move.header.lease, move.lease
    return (
        held is not None
        and named is not None
        and (held.worker_id, held.epoch) == (named.worker_id, named.epoch)
        and move.now < held.expires_at
    )


def writable(move: Move) -> bool:
    """Unsettled; and when a lease is named, it is live."""
    return move.header.terminal is None and (move.lease is None or live(move))


def from_outside(move: Move) -> bool:
    """Unsettled, and no lease is named."""
    return move.header.terminal is None and move.lease is None


# --- `ready_at` and the lease after --------------------------------------------------------------------


def lease_end(move: Move) -> datetime | None:
    """When the lease that is asked for ends: then somebody must look."""
    return move.lease.expires_at if move.lease else None


def same_ready(move: Move) -> datetime | None:
    """As it was."""
    return move.header.ready_at


def woken(move: Move) -> datetime | None:
    """Leased: as it was, since the holder sees the head move. Else now at the latest."""
    ready_at = move.header.ready_at
    if move.header.lease is not None:
        return ready_at
    return move.now if ready_at is None else min(ready_at, move.now)


def given(move: Move) -> datetime | None:
    """As given, now at the earliest: an old instant jumps no queue."""
    return None if move.ready_at is None else max(move.ready_at, move.now)


def asked(move: Move) -> Lease | None:
    """The one that is asked for."""
    return move.lease


def same_lease(move: Move) -> Lease | None:
    """As it was, also when it has expired."""
    return move.header.lease


def none(move: Move) -> None:
    """Nobody's, and never to be looked at."""
    del move


@dataclass(frozen=True, slots=True)
class Transition:
    """A row of the table."""

    allowed: Callable[[Move], bool]
    ready_at: Callable[[Move], datetime | None]
    lease: Callable[[Move], Lease | None]


TRANSITIONS: Mapping[Operation, Transition] = {
    Operation.CLAIM: Transition(allowed=due, ready_at=lease_end, lease=asked),
    Operation.RENEW: Transition(allowed=live, ready_at=lease_end, lease=asked),
    Operation.KEEP: Transition(allowed=writable, ready_at=same_ready, lease=same_lease),
    Operation.WAKE: Transition(allowed=from_outside, ready_at=woken, lease=same_lease),
    Operation.REST: Transition(allowed=live, ready_at=given, lease=none),
    Operation.SETTLE: Transition(allowed=live, ready_at=none, lease=none),
    Operation.RELEASE: Transition(allowed=live, ready_at=given, lease=none),
}


# --- the operations, by that table ---------------------------------------------------------------------


def admitted(write: Admit, now: datetime) -> RunHeader:
    """The header of a Run that was not stored before."""
    header = write.header
    return header.model_copy(update={"ready_at": given(Move(header, now, ready_at=header.ready_at))})


def claimed(header: RunHeader, worker_id: WorkerId, now: datetime, lease_seconds: float) -> Claim | None:
    """The claim, with the header after it; None when the Run cannot be claimed."""
    lease = Lease(header.run_id, worker_id, header.epoch + 1, now + timedelta(seconds=lease_seconds))
    move = Move(header, now, lease)
    if not _allowed(Operation.CLAIM, move):
        return None
    expired = header.lease is not None
    counts = {"epoch": lease.epoch, "crashes": header.crashes + expired}
    return Claim(_after(Operation.CLAIM, move, counts), lease, reclaimed=expired)


def renewed(header: RunHeader, lease: Lease, now: datetime, lease_seconds: float) -> RunHeader | None:
    """The header after a renewal; None when `lease` is lost."""
    move = Move(header, now, replace(lease, expires_at=now + timedelta(seconds=lease_seconds)))
    return _after(Operation.RENEW, move) if _allowed(Operation.RENEW, move) else None


def released(
    header: RunHeader, lease: Lease, now: datetime, ready_at: datetime | None, after: Head | None
) -> RunHeader:
    """The header after a release. Raises `LeaseLost`, and `SeqConflict` when the head is not `after`."""
    move = Move(header, now, lease, ready_at)
    if not _allowed(Operation.RELEASE, move):
        raise LeaseLost(header.run_id, lease.worker_id)
    if after is not None and header.head != after:
        raise SeqConflict(header.run_id, header.head)
    return _after(Operation.RELEASE, move)


def scrubbed(header: RunHeader) -> RunHeader:
    """The header of a settled Run without what it says of a person."""
    nobody = {"scope": Scope(tenant=header.scope.tenant), "idempotency_key": None, "request": bytes(32)}
    return header.model_copy(update={**nobody, "erased": True})


def allows(header: RunHeader, write: Append, now: datetime) -> bool:
    """Whether lease and state of the Run permit an append."""
    return _allowed(*_move(header, write, now))


def appended(header: RunHeader, write: Append, now: datetime) -> RunHeader:
    """The header after an append that is permitted."""
    change = write.change
    also: dict[str, object] = {"head": write.head}
    if change.facts is not None:
        also |= {name: getattr(change.facts, name) for name in _FACTS}
    if change.progress:
        also["crashes"] = 0
    if change.terminal is not None:
        also |= {"terminal": change.terminal, "settled_at": write.entries[-1].at}
    return _after(*_move(header, write, now), also)


_FACTS = tuple(each.name for each in fields(HeaderFacts))


def _move(header: RunHeader, write: Append, now: datetime) -> tuple[Operation, Move]:
    return Operation(write.change.action.value), Move(header, now, write.lease, write.change.ready_at)


def _allowed(operation: Operation, move: Move) -> bool:
    return TRANSITIONS[operation].allowed(move)


def _after(operation: Operation, move: Move, also: Mapping[str, object] | None = None) -> RunHeader:
    row = TRANSITIONS[operation]
    return move.header.model_copy(
        update={"ready_at": row.ready_at(move), "lease": row.lease(move), **(also or {})}
    )

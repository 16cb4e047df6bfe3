"""Those who write to one Run: Workers, who resumes, who interrupts, and time.

A Run is alone in a tenant of its name, so that a store may have many.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from psych_runtime_contract.store.scenes import SETTLE, WAKE, batch, rest, resting
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import LeaseLost, RunAlreadySettled, SeqConflict
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.claims import ClaimFilter
from psych_runtime_core.ports.runs import Lease
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import UNCHANGED, Append, HeaderAction, HeaderChange
from psych_runtime_core.records import Head

RESUME, ABORT, TURN = b"resume", b"abort", b"turn"
WAKES = {RESUME, ABORT}

Actor = Callable[[Store, RunId], Awaitable[None]]


def worker(name: str) -> Actor:
    """Claims the Run if it is due, reads, writes a turn, and ends it if it was woken; else it rests."""

    async def act(store: Store, run_id: RunId) -> None:
        only = ClaimFilter(tenants=frozenset({str(run_id)}))
        claims = await store.claim(WorkerId(f"{name} of {run_id}"), lease_seconds=60, only=only)
        if claims.claims:
            try:
                await _hold(store, claims.claims[0].lease)
            except LeaseLost:
                return

    return act


async def _hold(store: Store, lease: Lease) -> None:
    """What a Worker does under its lease. Where somebody else was faster it reads again."""
    turned = False
    while True:
        log = await store.read(lease.run_id)
        is_woken = any(entry.body in WAKES for entry in log)
        change = UNCHANGED if not turned else SETTLE if is_woken else rest()
        try:
            await store.commit([_turn(lease, log[-1].head, change)])
        except SeqConflict:
            continue
        if turned:
            return
        turned = True


def _turn(lease: Lease, after: Head, change: HeaderChange) -> Append:
    """Who holds the Run first gives it back without a word."""
    if change.action is HeaderAction.REST and lease.epoch == 1:
        return resting(lease.run_id, after, lease, change)
    return _append(lease.run_id, after, TURN, change, lease)


def waker(body: bytes) -> Actor:
    """Writes that the Run is to go on or to end, and wakes whoever must see it."""

    async def act(store: Store, run_id: RunId) -> None:
        while True:
            header = await store.get_run(run_id)
            facts = replace(header.facts, pending=header.pending + 1)
            change = replace(WAKE, facts=facts)
            try:
                await store.commit([_append(run_id, header.head, body, change)])
            except SeqConflict:
                continue
            except RunAlreadySettled:
                pass
            return

    return act


def lapse(time: StoreTime) -> Actor:
    """Lets every lease that there is come to its end."""

    async def act(store: Store, run_id: RunId) -> None:
        lease = (await store.get_run(run_id)).lease
        if lease is not None:
            await time.reaches(lease.expires_at)

    return act


def _append(
    run_id: RunId, after: Head, body: bytes, change: HeaderChange, lease: Lease | None = None
) -> Append:
    entries = batch(after, body, epoch=lease.epoch if lease else 0, settles=change.terminal is not None)
    return Append(run_id, after, entries, change, lease)

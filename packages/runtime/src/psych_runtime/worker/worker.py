"""The Worker: claims Runs, drives them, and gives them back."""

from __future__ import annotations

import logging
import os
import random
import socket
import uuid
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import TypeVar

import anyio
import anyio.abc

from psych_runtime.attempt.attempt import Attempt
from psych_runtime.attempt.first import within
from psych_runtime.attempt.hold import Hold
from psych_runtime.attempt.inbox import Inbox
from psych_runtime.attempt.loaded import Loaded
from psych_runtime.attempt.orders import Orders
from psych_runtime.attempt.outcome import Ended, Outcome
from psych_runtime.attempt.seat import Seat
from psych_runtime.attempt.signal import Signal
from psych_runtime.attempt.terms import Shared, Terms
from psych_runtime.attempt.versions import Versions
from psych_runtime.runtime import Runtime
from psych_runtime.worker.claiming import MOST_CLAIMED, MOST_LEFT_OUT, Claimer, DueMoments, Herd
from psych_runtime.worker.lease import Keeper
from psych_runtime.worker.slots import Slots
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.checks import check_filter
from psych_runtime_core.ports.claims import Claim, ClaimFilter
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Head

logger = logging.getLogger("psych_runtime.worker")
PARKED_KEPT = 64
N = TypeVar("N", int, float)


class Worker:
    """Drives Runs in this process: `Worker(runtime, …)`, or `Worker(store, runtime, …)`.

    `concurrency`: Runs at once, 1 to 1 000. `lease_seconds`: 1 to 3 600. `poll_interval`: seconds between
    claims when nothing wakes it, 0.01 to 3 600. `grace_seconds`: for work that must not be cut, 0 to 86 400.
    `linger_seconds`: how long an idle Attempt waits in place, 0 to 3 600. `max_crashes`: Attempts that may
    die without finishing anything, 1 to 1 000. `tenants`: it serves these alone, 1 000 at most.
    `tenant_concurrency`: how many Runs of a tenant may be at work over all Workers, a number for each, or by
    tenant with `"*"` for the rest. `ValueError` for what is out of bounds. It installs no signal handler.
    """

    def __init__(  # noqa: PLR0913 - the settings of a Worker, all keywords
        self,
        store_or_runtime: Store | Runtime,
        runtime: Runtime | None = None,
        *,
        worker_id: str | None = None,
        concurrency: int = 4,
        lease_seconds: float = 30.0,
        poll_interval: float = 5.0,
        grace_seconds: float = 60.0,
        linger_seconds: float = 2.0,
        max_crashes: int = 10,
        tenants: Collection[str] | None = None,
        tenant_concurrency: int | Mapping[str, int] | None = None,
    ) -> None:
        self.runtime = _runtime_of(store_or_runtime, runtime)
        self.worker_id = WorkerId(worker_id or _own_id())
        self.concurrency = _checked("concurrency", concurrency, 1, MOST_LEFT_OUT)
        self._lease_seconds = _checked("lease_seconds", lease_seconds, 1, 3_600)
        self._poll_interval = _checked("poll_interval", poll_interval, 0.01, 3_600)
        self._store = self.runtime.store
        self._orders = Orders()
        terms = Terms(
            _checked("grace_seconds", grace_seconds, 0, 86_400),
            _checked("linger_seconds", linger_seconds, 0, 3_600),
            _checked("max_crashes", max_crashes, 1, 1_000),
        )
        self._shared = Shared(self.runtime, Versions(self.runtime), terms, self._orders)
        self.slots = Slots(concurrency)
        self._seats: dict[RunId, Seat] = {}
        self._parked: OrderedDict[RunId, Loaded] = OrderedDict()
        only = _filter(tenants, tenant_concurrency)
        self._claimer = Claimer(self._store, self.worker_id, lease_seconds, only, self._orders)
        self._due = DueMoments(self._store.clock)
        self._running = self._hinted = self._passed_over = False
        self._ended: anyio.Event | None = None

    async def run(self) -> None:
        """Claim and drive until stopped or drained. A Worker runs once; a second `run` is `RuntimeError`."""
        if self._running or self._orders.draining:
            raise RuntimeError("a Worker runs once; make another one")
        self._running = True
        self._ended = anyio.Event()
        self._wake = Signal()
        try:
            async with self._store.changes(ready=True) as watch, anyio.create_task_group() as group:
                self._watch = watch
                group.start_soon(Keeper(self._store, self._seats, self._lease_seconds).keep)
                group.start_soon(self._listen)
                async with anyio.create_task_group() as attempts:
                    await self._claim_on(attempts)
                group.cancel_scope.cancel()
        finally:
            self._ended.set()

    async def drain(self, timeout: float | None = None) -> None:
        """Claim nothing more, let what is in flight end, hand over; after `timeout` seconds `stop`."""
        self._order(draining=True)
        if self._ended is None:
            return
        if timeout is None or await within(timeout, self._store.clock, self._has_ended) is None:
            if timeout is not None:
                self.stop()
            await self._has_ended()

    async def _has_ended(self) -> bool:
        assert self._ended is not None, "it is waited for once it runs"
        await self._ended.wait()
        return True

    def stop(self) -> None:
        """Cut short what is in flight and hand the Runs over. `run` returns within `grace_seconds`."""
        self._order(draining=True, stopping=True)

    def _order(self, *, draining: bool = False, stopping: bool = False) -> None:
        self._orders.draining = self._orders.draining or draining
        self._orders.stopping = self._orders.stopping or stopping
        for seat in self._seats.values():
            seat.inbox.wake()
        if self._running:
            self._wake.set()

    # --- finding work ----------------------------------------------------------------------------------

    async def _claim_on(self, attempts: anyio.abc.TaskGroup) -> None:
        """Claim at once while there is work and room; else at the next reason to look."""
        herd = Herd(self._store.clock)
        more = True
        while not self._orders.draining:
            free = self.concurrency - len(self._seats)
            if free and more:
                taken = await self._take(free, attempts)
                herd.found(taken)
                more = taken == min(free, MOST_CLAIMED)
                continue
            woken = await within(self._patience(), self._store.clock, self._wake.wait)
            if self._hinted:
                self._hinted = False
                await herd.hold_still()
                more = True
            # A slot that frees is no reason to look when the last claim left nothing.
            more = more or not woken or self._passed_over
            self._due.drop_past()

    def _patience(self) -> float:
        poll = self._poll_interval * random.uniform(0.8, 1.2)
        due = self._due.seconds_to_next()
        return poll if due is None else min(poll, due)

    async def _take(self, free: int, attempts: anyio.abc.TaskGroup) -> int:
        sent_at = self._store.clock.monotonic()
        claims = await self._claimer.claim(free, frozenset(self._seats))
        for claim in claims.claims:
            self._seat(claim, sent_at)
            attempts.start_soon(self._drive, claim)
        self._passed_over = claims.more
        return len(claims.claims)

    async def _listen(self) -> None:
        """Carry hints to those they concern."""
        while True:
            hint = await self._watch.wait(self._poll_interval)
            for run_id in hint.runs:
                if run_id in self._seats:
                    self._seats[run_id].inbox.moved_on()
            if hint.ready:
                self._hinted = True
                self._wake.set()

    # --- driving ---------------------------------------------------------------------------------------

    def _seat(self, claim: Claim, sent_at: float) -> None:
        run_id = claim.header.run_id
        hold = Hold(claim.lease, self._store.clock, sent_at=sent_at, lease_seconds=self._lease_seconds)

        def on_head(head: Head) -> None:
            self._watch.saw(run_id, head.seq)

        seat = Seat(hold, Inbox(), on_head, self._parked.pop(run_id, None))
        self._seats[run_id] = seat
        self._watch.follow(run_id)

    async def _drive(self, claim: Claim) -> None:
        run_id = claim.header.run_id
        try:
            with self.slots.seat(run_id):
                logger.info("an Attempt of %s begins, epoch %d", run_id, claim.lease.epoch)
                outcome = await Attempt(claim, self._seats[run_id], self._shared).run()
                logger.info("the Attempt of %s ended: %s", run_id, outcome.ended)
            self._after(claim, outcome)
        finally:
            self._watch.unfollow(run_id)
            del self._seats[run_id]
            self._wake.set()

    def _after(self, claim: Claim, outcome: Outcome) -> None:
        if outcome.ended is Ended.UNSERVED:
            self._claimer.skip_version(claim.header.version_hash, outcome.missing or "")
        if outcome.ended is Ended.TOO_NEW:
            self._claimer.skip_run(claim.header.run_id, outcome.missing or "")
        if outcome.ended is Ended.PARKED and outcome.loaded is not None:
            self._due.add(outcome.due_at)
            self._parked[claim.header.run_id] = outcome.loaded
            if len(self._parked) > PARKED_KEPT:
                self._parked.popitem(last=False)


def _runtime_of(store_or_runtime: Store | Runtime, runtime: Runtime | None) -> Runtime:
    if isinstance(store_or_runtime, Runtime):
        return store_or_runtime
    if runtime is None:
        raise ValueError("a Worker needs a Runtime; give Worker(Runtime(store=…, model=…, registry=…))")
    if runtime.store is not store_or_runtime:
        raise ValueError("the store given is not the Runtime's; give Worker(runtime) alone")
    return runtime


def _filter(
    tenants: Collection[str] | None, tenant_concurrency: int | Mapping[str, int] | None
) -> ClaimFilter:
    """Which Runs a Worker takes. Raises `ValueError` for too many tenants, and for a cap under 1."""
    if isinstance(tenants, str):
        raise TypeError(f"tenants is {tenants!r}; give a collection of tenants: {[tenants]}")
    named = None if tenants is None else frozenset(tenants)
    only = ClaimFilter(tenants=named, tenant_concurrency=tenant_concurrency)
    check_filter(only)
    return only


def _checked(name: str, value: N, least: float, most: float) -> N:
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}; give {least} to {most}")
    return value


def _own_id() -> str:
    return f"{socket.gethostname()[:64]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"

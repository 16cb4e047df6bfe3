"""When a Worker asks its store for work, and what it leaves out."""

from __future__ import annotations

import logging
import random
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from heapq import heappop, heappush, nsmallest
from itertools import islice
from typing import TypeVar

from psych_runtime.attempt.orders import Orders
from psych_runtime.attempt.pauses import Pauses
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreUnavailable
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.claims import ClaimFilter, Claims
from psych_runtime_core.ports.store import Store

logger = logging.getLogger("psych_runtime.worker")
# A Version that this process cannot serve is left out of its claims for this long.
SKIP_SECONDS = 60.0
# What one claim takes at most, and what it leaves out at most of a kind.
MOST_CLAIMED = 100
MOST_LEFT_OUT = 1_000
K = TypeVar("K", bound=str)
# Of a herd of Workers that hear of the same Run, most find it taken: so they do not ask at the same moment.
HERD_SECONDS = 0.02
LONGEST_HERD_SECONDS = 0.2
MOMENTS_KEPT = 1_000


class Claimer:
    """Takes Runs that `only` lets through, as many as there are free slots, in one call."""

    def __init__(
        self, store: Store, worker_id: WorkerId, lease_seconds: float, only: ClaimFilter, orders: Orders
    ) -> None:
        self._store, self._worker_id, self._seconds, self._orders = store, worker_id, lease_seconds, orders
        self._only = only
        # A process that was started anew may bear the id of the dead one, and must not be given its claims.
        self._own, self._requests = uuid.uuid4().hex, 0
        self._versions: dict[VersionHash, float] = {}
        self._runs: dict[RunId, float] = {}
        self._pauses = Pauses(store.clock, longest=30.0)
        self._said: set[str] = set()

    async def claim(self, limit: int, exclude: frozenset[RunId]) -> Claims:
        """Up to `limit` Runs, 100 at most. A claim whose answer is lost is repeated until it is known.

        A Worker that drains does so too, while there may be a lease that nobody else would give back.
        """
        self._requests += 1
        request_id = f"{self._own}:{self._requests}"
        clock, leased_until = self._store.clock, 0.0
        while True:
            asked_at = clock.monotonic()
            try:
                claims = await self._store.claim(
                    self._worker_id,
                    limit=min(limit, MOST_CLAIMED),
                    lease_seconds=self._seconds,
                    only=self._filter(exclude),
                    request_id=request_id,
                )
            except Exception as error:
                self._say(error)
                if not isinstance(error, StoreUnavailable) or error.outcome == "unknown":
                    leased_until = asked_at + self._seconds
                if self._orders.draining and clock.monotonic() >= leased_until:
                    return Claims(())
                await self._pauses.sleep()
            else:
                self._pauses.reset()
                return claims

    def skip_version(self, version_hash: VersionHash, missing: str) -> None:
        """Leave the Runs of a Version to other Workers for a while; say so once."""
        self._skip(self._versions, version_hash, f"Version {version_hash}", missing)

    def skip_run(self, run_id: RunId, missing: str) -> None:
        """Leave one Run to other Workers for a while; say so once."""
        self._skip(self._runs, run_id, f"Run {run_id}", missing)

    def _skip(self, skipped: dict[K, float], key: K, what: str, missing: str) -> None:
        if key not in skipped:
            logger.warning("this process cannot serve %s: %s", what, missing)
        skipped[key] = self._store.clock.monotonic() + SKIP_SECONDS

    def _filter(self, exclude: frozenset[RunId]) -> ClaimFilter:
        runs = self._left_out(self._runs, MOST_LEFT_OUT - len(exclude))
        versions = self._left_out(self._versions, MOST_LEFT_OUT)
        return replace(self._only, skip_versions=versions, exclude=exclude | runs)

    def _left_out(self, skipped: Mapping[K, float], most: int) -> frozenset[K]:
        now = self._store.clock.monotonic()
        return frozenset(islice((key for key, until in skipped.items() if until > now), most))

    def _say(self, error: Exception) -> None:
        kind = type(error).__name__
        if kind not in self._said:
            self._said.add(kind)
            logger.warning("work could not be claimed, and will be asked for again: %s", error)


class Herd:
    """How long a Worker holds still after a hint of ready work."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._window = HERD_SECONDS

    async def hold_still(self) -> None:
        await self._clock.sleep(random.uniform(0, self._window))

    def found(self, count: int) -> None:
        """The claim that followed took so many Runs."""
        self._window = HERD_SECONDS if count else min(self._window * 2, LONGEST_HERD_SECONDS)


class DueMoments:
    """The soonest moments at which Runs that this Worker parked must be looked at.

    So many are kept that memory does not grow with parked Runs; the next poll finds those that were dropped.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: list[datetime] = []

    def add(self, moment: datetime | None) -> None:
        if moment is not None:
            heappush(self._moments, moment)
        if len(self._moments) > 2 * MOMENTS_KEPT:
            self._moments = nsmallest(MOMENTS_KEPT, self._moments)

    def seconds_to_next(self) -> float | None:
        """Seconds until the soonest, 0 when it has come; None when there is none."""
        if not self._moments:
            return None
        return max((self._moments[0] - self._clock.now()).total_seconds(), 0.0)

    def drop_past(self) -> None:
        """Forget the moments that have come."""
        while self._moments and self._moments[0] <= self._clock.now():
            heappop(self._moments)

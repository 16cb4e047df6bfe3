"""The open Runs in numbers."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from psych_runtime_core.ports.reports import MOST_COUNTED, Counts, StoreStats, store_stats
from psych_runtime_memory.queue import RunQueue


def stats_of(queue: RunQueue, now: datetime, tenant: str | None, top: int) -> StoreStats:
    """The open Runs of `tenant`, or of all, and the `top` tenants whose ready work is oldest."""
    queue.promote(now)
    by_tenant: dict[str, Counts] = {}
    for (name, state, is_ready), number in queue.counts.items():
        if tenant in {None, name}:
            by_tenant.setdefault(name, Counts()).standing[state, is_ready] += number
    for name, counts in by_tenant.items():
        counts.since = _ready_since(queue, name)
    return store_stats(now, by_tenant, top)


def _ready_since(queue: RunQueue, tenant: str) -> datetime | None:
    """Since when the oldest ready Run of a tenant is ready; one whose lease expired is not counted."""
    looked_at = islice(queue.ready.of(tenant), MOST_COUNTED)
    return min((each.ready_at for each in looked_at if each.ready_at and not each.lease), default=None)

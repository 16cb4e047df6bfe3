"""Runs in their thousands, as a store may have them: ready, parked or settled, of one tenant or of many."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import anyio

from benchmarks.runs import fillers
from psych_runtime import Admit, RunHeader, RunId, Scope, Store, TerminalState, VersionHash
from psych_runtime_core.ports.checks import MAX_WRITES
from psych_runtime_core.ports.runs import NOW
from psych_runtime_core.records import GENESIS

Kind = Literal["ready", "parked", "settled"]
SERVED, LEFT_OUT = VersionHash("version_served"), VersionHash("version_left_out")
COMMITS_AT_ONCE = 64


async def crowd(
    store: Store,
    name: str,
    count: int,
    kind: Kind = "ready",
    *,
    tenants: int = 1,
    version: VersionHash = SERVED,
) -> None:
    """Store so many Runs of one entry, shared out evenly among the tenants."""
    limiter, now = anyio.CapacityLimiter(COMMITS_AT_ONCE), store.clock.now()

    async def commit(tenant: str, numbers: range) -> None:
        async with limiter:
            await store.commit(
                [run_of(f"{tenant}_{number:06}", tenant, kind, now, version=version) for number in numbers]
            )

    async with anyio.create_task_group() as group:
        for tenant in range(tenants):
            share = count // tenants + (tenant < count % tenants)
            for first in range(0, share, MAX_WRITES):
                group.start_soon(commit, f"{name}_{tenant}", range(first, min(first + MAX_WRITES, share)))


def run_of(
    name: str, tenant: str, kind: Kind, now: datetime, *, length: int = 1, version: VersionHash = SERVED
) -> Admit:
    """A Run with so many entries."""
    entries = fillers(GENESIS, length, now, settles=kind == "settled")
    header = RunHeader(
        run_id=RunId(f"run_{name}"),
        scope=Scope(tenant=tenant),
        name="crowd",
        request=bytes(32),
        root_run_id=RunId(f"run_{name}"),
        created_at=now,
        head=entries[-1].head,
        version_hash=version,
        **_standing(kind, now),
    )
    return Admit(header, entries)


def _standing(kind: Kind, now: datetime) -> Mapping[str, Any]:
    """What the header of such a Run says of its life."""
    if kind == "settled":
        return {"settled_at": now, "terminal": TerminalState.COMPLETED}
    return {"ready_at": NOW if kind == "ready" else None, "parked": kind == "parked"}

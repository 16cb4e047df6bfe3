"""Runs to measure on: begun, grown with entries that nobody decodes, driven, awaited."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime

import anyio

from benchmarks.agents import AGENT
from psych_runtime import Entry, Head, RunId, Scope, Store, Worker, dispatch
from psych_runtime_core.records.entry import chain

SCOPE = Scope(tenant="acme")
BODY = b"x" * 400
ENTRIES_A_COMMIT = 5_000
PATIENCE_SECONDS = 60.0


async def new_run(store: Store, length: int = 1) -> tuple[RunId, Head]:
    """A Run with so many entries, and where its log ends."""
    run_id = (await dispatch(store, AGENT, SCOPE)).run_id
    head = (await store.get_run(run_id)).head
    while head.seq < length:
        head = await append(store, run_id, head, min(ENTRIES_A_COMMIT, length - head.seq))
    return run_id, head


async def append(store: Store, run_id: RunId, head: Head, count: int = 1) -> Head:
    """Write entries behind `head`, in one commit; the head they lead to."""
    return await store.append(run_id, head, fillers(head, count, store.clock.now()))


def fillers(after: Head, count: int, at: datetime, *, settles: bool = False) -> tuple[Entry, ...]:
    """So many entries behind `after` that nobody decodes; the last one, if told so, ends its Run."""
    entries: list[Entry] = []
    for left in reversed(range(count)):
        kind = "run_settled" if settles and not left else "filler"
        entries.append(Entry(after.seq + 1, kind, at, 0, BODY, chain(after, BODY)))
        after = entries[-1].head
    return tuple(entries)


@asynccontextmanager
async def working(worker: Worker) -> AsyncGenerator[None]:
    """The Worker runs meanwhile."""
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        yield
        await worker.drain()


async def settled(store: Store, run_id: RunId) -> None:
    """Return once the Run has ended."""
    async with store.changes([run_id]) as watch:
        while (await store.get_run(run_id)).terminal is None:
            await watch.wait(PATIENCE_SECONDS)

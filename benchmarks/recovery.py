"""A Worker is killed in mid-tool: until another one has finished its Run, against lease and poll."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

import anyio

from benchmarks.agents import REGISTRY, TimedModel, lookup_order, new_store
from benchmarks.figure import Figure, at_most
from benchmarks.processes import started
from benchmarks.runs import new_run, settled, working
from benchmarks.setting import Setting
from psych_runtime import ModelClient, Runtime, Store, ToolRegistry, Worker
from psych_runtime.store.sqlite import SQLiteStore

# The shortest lease there is.
LEASE_SECONDS = 1.0
POLL_SECONDS = 0.5


def measure(setting: Setting) -> Iterator[Figure]:
    seconds = [asyncio.run(recovery_seconds(setting.new_file())) for _ in range(setting.rounds)]
    allowed = [LEASE_SECONDS + POLL_SECONDS] * len(seconds)
    # Workers poll out of step: each of their intervals is up to a fifth longer.
    yield Figure("SIGKILL in mid-tool until settled / lease + poll", "s", seconds, allowed, at_most(1.1))


async def recovery_seconds(path: Path) -> float:
    """Seconds from the kill until a Worker that stood by has settled the Run."""
    async with new_store("SQLite", path) as store:
        run_id, _ = await new_run(store)
        with started(work_without_end, path) as other:
            await asyncio.to_thread(other.pipe.recv)
            async with working(worker_on(store, TimedModel(0), REGISTRY)):
                # The kill may come at any moment of its poll.
                await anyio.sleep(random.uniform(0, POLL_SECONDS))
                killed = perf_counter()
                other.kill()
                await settled(store, run_id)
                return perf_counter() - killed


def work_without_end(pipe: Connection, path: Path) -> None:
    """In the other process: claim the Run, and say when its tool has begun."""

    async def hang(order_id: str) -> str:
        """Look up an order, for ever."""
        pipe.send(order_id)
        await anyio.sleep_forever()
        return order_id

    registry = ToolRegistry()
    registry.register(hang, name=lookup_order.__name__, annotations="read-only")
    asyncio.run(_work(path, registry))


async def _work(path: Path, registry: ToolRegistry) -> None:
    async with SQLiteStore(path) as store:
        await worker_on(store, TimedModel(1), registry).run()


def worker_on(store: Store, model: ModelClient, registry: ToolRegistry) -> Worker:
    runtime = Runtime(store=store, model=model, registry=registry)
    return Worker(runtime, lease_seconds=LEASE_SECONDS, poll_interval=POLL_SECONDS)

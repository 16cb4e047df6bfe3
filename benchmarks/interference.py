"""An append beside large work on the same file: a purge of many entries, a large blob."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from functools import partial
from statistics import quantiles
from time import perf_counter

import anyio

from benchmarks.agents import new_store
from benchmarks.crowds import run_of
from benchmarks.figure import Figure, at_most
from benchmarks.runs import append, new_run
from benchmarks.setting import Setting
from psych_runtime import BlobKey, RunId, RunQuery, Store
from psych_runtime_core.ports.blob import blobs_of

MIB = 1024 * 1024
ENTRIES_A_RUN = 10_000
LEAST_APPENDS = 200
Work = Callable[[], Awaitable[object]]


def measure(setting: Setting) -> Iterator[Figure]:
    entries, size = setting.size(100_000, least=2), setting.size(100)
    for name, prepare in (
        (f"a purge of {entries} entries", partial(a_purge, entries)),
        (f"a put of {size} MiB", partial(a_put, size)),
    ):
        pairs = [asyncio.run(slowest(setting, prepare)) for _ in range(setting.rounds)]
        ours, alone = zip(*pairs, strict=True)
        yield Figure(f"append p99 beside {name} / alone", "ms", ours, alone, at_most(3))


async def a_purge(entries: int, store: Store) -> Work:
    """Removes settled Runs that have so many entries together."""
    for number, first in enumerate(range(0, entries, ENTRIES_A_RUN)):
        length = min(ENTRIES_A_RUN, entries - first)
        old = run_of(f"old_{number}", "old", "settled", store.clock.now(), length=length)
        await store.admit(old.header, old.entries)
    return partial(store.purge, RunQuery(tenant="old"))


async def a_put(size: int, store: Store) -> Work:
    """Stores a blob of so many MiB that comes piece by piece."""

    async def pieces() -> AsyncGenerator[bytes]:
        for number in range(size):
            yield number.to_bytes(4, "big") * (MIB // 4)

    blobs = blobs_of(store)
    assert blobs is not None
    key = BlobKey("acme", RunId("run_with_blob"), "call.1")
    return lambda: blobs.put(key, pieces(), content_type="application/octet-stream")


async def slowest(setting: Setting, prepare: Callable[[Store], Awaitable[Work]]) -> tuple[float, float]:
    """The 99th percentile of an append's time while the work goes on, and of as many with nothing beside."""
    async with new_store("SQLite", setting.new_file()) as store:
        work = await prepare(store)
        busy, done = list[float](), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(_append_until, store, busy, done.is_set)
            await work()
            done.set()
        alone: list[float] = []
        wanted = max(LEAST_APPENDS, len(busy)) if setting.share == 1 else len(busy) + 1
        await _append_until(store, alone, lambda: len(alone) >= wanted)
    return 1e3 * p99(busy), 1e3 * p99(alone)


async def _append_until(store: Store, seconds: list[float], ended: Callable[[], bool]) -> None:
    """Append to a Run of its own, noting how long each append takes; twice at the least."""
    run_id, head = await new_run(store)
    while not ended() or len(seconds) < 2:
        begun = perf_counter()
        head = await append(store, run_id, head)
        seconds.append(perf_counter() - begun)


def p99(seconds: list[float]) -> float:
    return quantiles(seconds, n=100, method="inclusive")[-1]

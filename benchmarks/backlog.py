"""What a claim costs where much waits, rests or has ended, against where little does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from benchmarks.agents import KINDS, StoreKind, new_store
from benchmarks.crowds import LEFT_OUT, SERVED, Kind, crowd
from benchmarks.figure import Figure, at_least
from benchmarks.setting import Setting
from psych_runtime import ClaimFilter, Store, VersionHash, WorkerId

CLAIMS = 50
WORKER = WorkerId("worker")
SERVABLE = ClaimFilter(skip_versions=frozenset({LEFT_OUT}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What a store holds: so many Runs that can be claimed, of so many tenants, and beside them a crowd."""

    ready: int
    tenants: int = 1
    beside: int = 0
    kind: Kind = "ready"
    version: VersionHash = SERVED


def measure(setting: Setting) -> Iterator[Figure]:
    large = setting.size(100_000, least=2)
    # A round claims from both sides, and no side may run dry.
    small = setting.size(1_000, least=2) if setting.share == 1 else (setting.rounds + 1) * CLAIMS
    plain = Queue(ready=small)
    against = {
        f"{large} ready / {small}": Queue(ready=large + small),
        f"beside {large} parked / none": Queue(ready=small, beside=large, kind="parked"),
        f"beside {large} settled / none": Queue(ready=small, beside=large, kind="settled"),
        f"beside {large} of a left-out Version / none": Queue(ready=small, beside=large, version=LEFT_OUT),
        "of 500 tenants / of 1": Queue(ready=small, tenants=500),
    }
    for kind in KINDS:
        for name, crowded in against.items():
            ours, bare = asyncio.run(rates(setting, kind, crowded, plain))
            yield Figure(f"claims, {name}, {kind}", "/s", ours, bare, at_least(0.9))


async def rates(setting: Setting, kind: StoreKind, *queues: Queue) -> tuple[list[float], list[float]]:
    """In each round, the usual rate of claims of one Run at the first queue, and at the second."""
    crowded, plain = queues
    ours: list[float] = []
    against: list[float] = []
    async with filled(setting, kind, crowded) as full, filled(setting, kind, plain) as sparse:
        for number in range(setting.rounds + 1):
            pairs = [(await claim_seconds(full), await claim_seconds(sparse)) for _ in range(CLAIMS)]
            # The first round warms both up.
            if number:
                ours.append(1 / median(late for late, _ in pairs))
                against.append(1 / median(early for _, early in pairs))
    return ours, against


@asynccontextmanager
async def filled(setting: Setting, kind: StoreKind, queue: Queue) -> AsyncGenerator[Store]:
    """A store that holds the queue."""
    async with new_store(kind, setting.new_file()) as store:
        await crowd(store, "beside", queue.beside, queue.kind, version=queue.version)
        await crowd(store, "ready", queue.ready, tenants=queue.tenants)
        yield store


async def claim_seconds(store: Store) -> float:
    begun = perf_counter()
    (_,) = (await store.claim(WORKER, only=SERVABLE)).claims
    return perf_counter() - begun

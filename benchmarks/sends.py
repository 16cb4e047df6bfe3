"""A message to a Run with a long log against one to a Run with a short log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from statistics import median
from time import perf_counter

from benchmarks.agents import KINDS, StoreKind, new_store
from benchmarks.figure import Figure, at_most
from benchmarks.runs import new_run
from benchmarks.setting import Setting
from psych_runtime import RunId, Store, send

SENDS = 50


def measure(setting: Setting) -> Iterator[Figure]:
    length = setting.size(100_000, least=11)
    for kind in KINDS:
        rounds = asyncio.run(sent(setting, kind, length))
        late, early = ([1e3 * each[side] for each in rounds] for side in (0, 1))
        yield Figure(f"send at record {length} / at record 10, {kind}", "ms", late, early, at_most(1.2))


async def sent(setting: Setting, kind: StoreKind, length: int) -> list[tuple[float, float]]:
    """In each round, the usual time of a message to the long log, and to the short one."""
    async with new_store(kind, setting.new_file()) as store:
        long, short = [(await new_run(store, records))[0] for records in (length, 10)]
        await asyncio.gather(send_seconds(store, long), send_seconds(store, short))
        rounds: list[tuple[float, float]] = []
        for _ in range(setting.rounds):
            pairs = [
                (await send_seconds(store, long), await send_seconds(store, short)) for _ in range(SENDS)
            ]
            rounds.append((median(late for late, _ in pairs), median(early for _, early in pairs)))
    return rounds


async def send_seconds(store: Store, run_id: RunId) -> float:
    begun = perf_counter()
    await send(store, run_id, message="And where is my other order?")
    return perf_counter() - begun

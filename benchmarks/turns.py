"""A turn with one tool call: late in a Run against early in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from benchmarks.agents import KINDS, REGISTRY, StoreKind, TimedModel, around, new_store
from benchmarks.figure import Figure, at_most
from benchmarks.runs import new_run, settled, working
from benchmarks.setting import Setting
from psych_runtime import Runtime, Worker


def measure(setting: Setting) -> Iterator[Figure]:
    early = setting.size(10, least=1)
    late = [setting.size(200, least=2), setting.size(2_000, least=3)]
    for kind in KINDS:
        asyncio.run(turn_seconds(kind, setting.new_file(), early))
        runs = [asyncio.run(turn_seconds(kind, setting.new_file(), late[-1])) for _ in range(setting.rounds)]
        sooner = [1e3 * around(run, early) for run in runs]
        for turn in late:
            later = [1e3 * around(run, turn) for run in runs]
            yield Figure(f"turn {turn} / turn {early}, {kind}", "ms", later, sooner, at_most(1.5))


async def turn_seconds(kind: StoreKind, path: Path, turns: int) -> list[float]:
    """How long each turn of a Run takes, while nobody follows it."""
    model = TimedModel(turns)
    async with new_store(kind, path) as store:
        run_id, _ = await new_run(store)
        async with working(Worker(Runtime(store=store, model=model, registry=REGISTRY))):
            await model.done.wait()
            await settled(store, run_id)
    return model.turn_seconds

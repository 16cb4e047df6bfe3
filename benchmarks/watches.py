"""What a watch on many Runs holds in memory, however much happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from benchmarks.agents import new_store
from benchmarks.crowds import crowd
from benchmarks.figure import Figure, at_most
from benchmarks.runs import PATIENCE_SECONDS, append, new_run
from benchmarks.setting import Setting, Side
from benchmarks.streams import peak
from psych_runtime import RunId

NAME = "watched"


def measure(setting: Setting) -> Iterator[Figure]:
    runs, many, few = setting.size(1_000), setting.size(500, least=2), setting.size(20)
    file = setting.new_file()
    asyncio.run(fill(file, runs))
    sides = setting.alternate(watching(file, runs, many), watching(file, runs, few))
    name = f"peak of a watch on {runs} Runs with {many} appends / with {few}"
    yield Figure(name, "MiB", *sides, at_most(1.2))


def watching(file: Path, runs: int, appends: int) -> Side:
    return lambda: peak(watched(file, runs, appends))


async def fill(file: Path, runs: int) -> None:
    async with new_store("SQLite", file) as store:
        await crowd(store, NAME, runs, "parked")


async def watched(file: Path, runs: int, appends: int) -> None:
    """Watch them, and one more that so much is appended to, told of each time."""
    async with new_store("SQLite", file) as store:
        run_id, head = await new_run(store)
        ids = [run_id, *(RunId(f"run_{NAME}_0_{number:06}") for number in range(runs))]
        async with store.changes(ids) as watch:
            for _ in range(appends):
                head = await append(store, run_id, head)
                told = await watch.wait(PATIENCE_SECONDS)
                assert run_id in told.runs

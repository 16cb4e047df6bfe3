"""Many Runs at once in one process: Runs a second, and appends a second."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from time import perf_counter

import anyio

from benchmarks.agents import KINDS, REGISTRY, StoreKind, TimedModel, new_store
from benchmarks.figure import Figure, at_least
from benchmarks.runs import append, new_run, settled, working
from benchmarks.setting import Setting
from psych_runtime import Head, RunId, Runtime, Store, Worker


def measure(setting: Setting) -> Iterator[Figure]:
    for kind in KINDS:
        for at_once in (8, 32):
            sides = setting.alternate(
                partial(runs_a_second, setting, kind, at_once), partial(runs_a_second, setting, kind, 1)
            )
            yield Figure(f"Runs of two turns, {at_once} at once / one at once, {kind}", "/s", *sides)
    many = setting.size(32, least=2)
    sides = setting.alternate(partial(appends_a_second, setting, many), partial(appends_a_second, setting, 1))
    yield Figure(f"SQLite appends, {many} Runs at once / one", "/s", *sides, at_least(2))


# --- Runs --------------------------------------------------------------------------------------------


def runs_a_second(setting: Setting, kind: StoreKind, at_once: int) -> float:
    return asyncio.run(_runs_a_second(setting, kind, at_once))


async def _runs_a_second(setting: Setting, kind: StoreKind, at_once: int) -> float:
    """How fast a Worker of this concurrency works off what waits for it."""
    async with new_store(kind, setting.new_file()) as store:
        runs = [(await new_run(store))[0] for _ in range(setting.size(64, least=2))]
        runtime = Runtime(store=store, model=TimedModel(1), registry=REGISTRY)
        begun = perf_counter()
        async with working(Worker(runtime, concurrency=at_once)):
            for run_id in runs:
                await settled(store, run_id)
            return len(runs) / (perf_counter() - begun)


# --- appends -----------------------------------------------------------------------------------------


def appends_a_second(setting: Setting, writers: int) -> float:
    return asyncio.run(_appends_a_second(setting, writers))


async def _appends_a_second(setting: Setting, writers: int) -> float:
    """How many appends of one entry a process makes, each writer to a Run of its own."""
    each = setting.size(1_024, least=4) // writers
    async with new_store("SQLite", setting.new_file()) as store:
        runs = [await new_run(store) for _ in range(writers)]
        begun = perf_counter()
        async with anyio.create_task_group() as group:
            for run_id, head in runs:
                group.start_soon(_write, store, run_id, head, each)
        return each * writers / (perf_counter() - begun)


async def _write(store: Store, run_id: RunId, head: Head, count: int) -> None:
    for _ in range(count):
        head = await append(store, run_id, head)

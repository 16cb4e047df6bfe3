"""Many Workers that claim at once, and what a claim of many is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import anyio

from benchmarks.agents import KINDS, StoreKind, new_store
from benchmarks.crowds import crowd
from benchmarks.figure import Figure, at_least, at_most
from benchmarks.setting import Setting
from psych_runtime import WorkerId

FLOOD = 10_000


@dataclass(frozen=True, slots=True)
class Taken:
    """One claim, and how many Runs it took."""

    began: float
    ended: float
    runs: int


def measure(setting: Setting) -> Iterator[Figure]:
    rate = partial(claimed_a_second, setting)
    for many, few, least in ((8, 1, 1), (32, 8, 1), (32, 1, 2)):
        sides = setting.alternate(partial(rate, many, 1), partial(rate, few, 1))
        yield Figure(f"SQLite claims of {many} Workers / of {few}", "/s", *sides, at_least(least))
    sides = setting.alternate(partial(rate, 8, 8), partial(rate, 8, 1))
    yield Figure("Runs claimed by 8 Workers, 8 at once / one, SQLite", "/s", *sides, at_least(4))
    yield handed(setting)
    for kind in KINDS:
        claims = float(asyncio.run(rounds_until_other(setting, kind)))
        flood = setting.size(FLOOD, least=32)
        name = f"claims until a Run behind {flood} of another tenant / 1, {kind}"
        yield Figure(name, "claims", [claims], [1.0], at_most(2))


# --- at once -----------------------------------------------------------------------------------------


def claimed_a_second(setting: Setting, workers: int, limit: int) -> float:
    """How many Runs the Workers take a second, until all are taken."""
    taken = asyncio.run(take_all(setting, workers, limit))
    seconds = max(claim.ended for claim in taken) - min(claim.began for claim in taken)
    return sum(claim.runs for claim in taken) / seconds


def handed(setting: Setting) -> Figure:
    """How many claims of 32 Workers took something, of those that ended while there was something to take."""
    rounds = [asyncio.run(take_all(setting, 32, 1)) for _ in range(setting.rounds)]
    whiles = [while_ready(taken) for taken in rounds]
    return Figure(
        "claims of 32 Workers that took a Run / claims while one was ready, SQLite",
        "claims",
        [float(sum(claim.runs > 0 for claim in taken)) for taken in whiles],
        [float(len(taken)) for taken in whiles],
        at_least(0.99),
    )


def while_ready(taken: list[Taken]) -> list[Taken]:
    """The claims that ended before the last one that took a Run began: that Run was ready all the while."""
    last = max(claim.began for claim in taken if claim.runs)
    return [claim for claim in taken if claim.runs or claim.ended < last]


async def take_all(setting: Setting, workers: int, limit: int) -> list[Taken]:
    """Every claim of so many Workers, until all Runs are taken."""
    runs, taken = setting.size(2_048, least=workers * limit), list[Taken]()
    async with new_store("SQLite", setting.new_file()) as store:
        await crowd(store, "ready", runs)

        async def work(worker_id: WorkerId) -> None:
            while sum(claim.runs for claim in taken) < runs:
                began = perf_counter()
                claims = (await store.claim(worker_id, limit=limit)).claims
                taken.append(Taken(began, perf_counter(), len(claims)))

        async with anyio.create_task_group() as group:
            for number in range(workers):
                group.start_soon(work, WorkerId(f"worker_{number}"))
    return taken


# --- a flood -----------------------------------------------------------------------------------------


async def rounds_until_other(setting: Setting, kind: StoreKind) -> int:
    """How many claims of 16 it takes until one has the only Run of a tenant that came last."""
    async with new_store(kind, setting.new_file()) as store:
        await crowd(store, "flood", setting.size(FLOOD, least=32))
        await crowd(store, "other", 1)
        for number in range(1, FLOOD):
            taken = (await store.claim(WorkerId("worker"), limit=16)).claims
            if any(claim.header.scope.tenant.startswith("other") for claim in taken):
                return number
    raise AssertionError("the other tenant's Run was never claimed")

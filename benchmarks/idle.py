"""What Workers without work ask of SQLite: their claims, the looks of a watch, and who wakes for one Run."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from unittest.mock import patch

import anyio

from benchmarks.agents import AGENT, REGISTRY, TimedModel, new_store
from benchmarks.figure import Figure, at_most
from benchmarks.runs import PATIENCE_SECONDS, SCOPE, settled, working
from benchmarks.setting import Setting
from psych_runtime import Claims, Runtime, Worker, dispatch
from psych_runtime.store.sqlite import SQLiteStore

POLL_SECONDS = 0.25
# In which whoever was woken has claimed.
WHILE_SECONDS = 0.5
# What each connection of this process has executed.
Traces = list[list[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked in so many seconds. A claim is a transaction of the one connection that writes."""

    seconds: float
    claims: int
    of_claims: int
    of_watch: int


def measure(setting: Setting) -> Iterator[Figure]:
    rounds = asyncio.run(idle(setting))
    polls = [each.seconds / POLL_SECONDS for each in rounds]
    claims = [float(each.claims) for each in rounds]
    seconds = [each.seconds for each in rounds]
    yield Figure("claims of an idle Worker / poll intervals", "claims", claims, polls, at_most(1.1))
    of_claims = [float(each.of_claims) for each in rounds]
    yield Figure("statements of its claims / claims", "statements", of_claims, claims)
    of_watch = [float(each.of_watch) for each in rounds]
    yield Figure("statements of its watch / seconds", "statements", of_watch, seconds)
    workers = setting.size(200, least=2)
    woken = [float(asyncio.run(claims_for_one(setting, workers))) for _ in range(setting.rounds)]
    name = f"claims of {workers} idle Workers for a new Run / Workers"
    yield Figure(name, "claims", woken, [float(workers)] * setting.rounds, at_most(1))


# --- one Worker --------------------------------------------------------------------------------------


async def idle(setting: Setting) -> list[Asked]:
    """Rounds of an idle Worker."""
    seconds = setting.size(8, least=2) * POLL_SECONDS
    with traced() as traces:
        async with new_store("SQLite", setting.new_file()) as store:
            runtime = Runtime(store=store, model=TimedModel(0), registry=REGISTRY)
            async with working(Worker(runtime, poll_interval=POLL_SECONDS)):
                await anyio.sleep(POLL_SECONDS)
                return [await asked(traces, seconds) for _ in range(setting.rounds)]


async def asked(traces: Traces, seconds: float) -> Asked:
    for trace in traces:
        trace.clear()
    begun = perf_counter()
    await anyio.sleep(seconds)
    passed = perf_counter() - begun
    claims = sum(trace.count("BEGIN IMMEDIATE") for trace in traces)
    of_claims = sum(len(trace) for trace in traces if "BEGIN IMMEDIATE" in trace)
    of_watch = sum(len(trace) for trace in traces) - of_claims
    return Asked(passed, claims, of_claims, of_watch)


@contextmanager
def traced() -> Generator[Traces]:
    """Every connection that is opened meanwhile writes down what it executes."""
    traces: Traces = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def connecting(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        traces.append([])
        connection.set_trace_callback(traces[-1].append)
        return connection

    with patch.object(sqlite3, "connect", connecting):
        yield traces


# --- many --------------------------------------------------------------------------------------------


async def claims_for_one(setting: Setting, workers: int) -> int:
    """How often so many Workers of one process claim, from when a Run comes to a while after its end."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(new_store("SQLite", setting.new_file()))
        claims = stack.enter_context(counted_claims())
        runtime = Runtime(store=store, model=TimedModel(0), registry=REGISTRY)
        for _ in range(workers):
            await stack.enter_async_context(working(Worker(runtime, poll_interval=PATIENCE_SECONDS)))
        while len(claims) < workers:  # noqa: ASYNC110 - each claims once before it waits
            await anyio.sleep(WHILE_SECONDS)
        claims.clear()
        await settled(store, (await dispatch(store, AGENT, SCOPE)).run_id)
        await anyio.sleep(WHILE_SECONDS)
        return len(claims)


@contextmanager
def counted_claims() -> Generator[list[None]]:
    """One item for each claim that is made of SQLite meanwhile."""
    claims: list[None] = []
    claim = SQLiteStore.claim

    async def counting(self: SQLiteStore, *args: Any, **options: Any) -> Claims:
        claims.append(None)
        return await claim(self, *args, **options)

    with patch.object(SQLiteStore, "claim", counting):
        yield claims

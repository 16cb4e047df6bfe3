"""What a Worker without work asks of SQLite: its claims, and the looks of its watch."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from unittest.mock import patch

import anyio

from benchmarks.agents import REGISTRY, TimedModel, new_store
from benchmarks.figure import Figure, at_most
from benchmarks.runs import working
from benchmarks.setting import Setting
from psych_runtime import Runtime, Worker

POLL_SECONDS = 0.25
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

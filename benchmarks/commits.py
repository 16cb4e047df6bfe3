"""A turn with one tool call against two bare commits of the same bytes, as durable, in a thread as well."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.agents import AGENT, REGISTRY, TimedModel, new_store
from benchmarks.figure import Figure, at_most
from benchmarks.setting import Setting
from benchmarks.turns import turn_seconds
from psych_runtime import session

ANSWERED = frozenset({"model_call_finished", "tool_call_started"})


def measure(setting: Setting) -> Iterator[Figure]:
    turns = setting.size(100, least=2)
    bodies = asyncio.run(bodies_of_turns(setting.new_file(), turns))

    def bare() -> float:
        return 1e3 * median(asyncio.run(bare_turn_seconds(setting.new_file(), bodies)))

    def durable() -> float:
        return 1e3 * median(asyncio.run(turn_seconds("SQLite", setting.new_file(), turns)))

    def in_memory() -> float:
        return 1e3 * median(asyncio.run(turn_seconds("memory", setting.new_file(), turns)))

    ours, against = setting.alternate(durable, bare)
    yield Figure("SQLite turn / two bare commits", "ms", ours, against, at_most(2))
    ours, against = setting.alternate(in_memory, bare)
    yield Figure("memory turn / two bare commits", "ms", ours, against)


async def bodies_of_turns(path: Path, turns: int) -> list[bytes]:
    """What the two commits of each turn hold: its answer and its tool's start, then what came of it."""
    model = TimedModel(turns)
    async with new_store("SQLite", path) as store, session(model, store=store, registry=REGISTRY) as local:
        answer = await local.ask(AGENT, "Where are my orders?")
        log = await store.read(answer.run_id, limit=10_000)
    commits = [
        b"".join(entry.body for entry in commit)
        for _, commit in groupby(log, key=lambda entry: entry.type in ANSWERED)
    ]
    # The first began the Run, and the last two ended it.
    return commits[1 : 2 * turns + 1]


# --- what a turn is measured by ----------------------------------------------------------------------


async def bare_turn_seconds(path: Path, bodies: Sequence[bytes]) -> list[float]:
    connection, loop, times = bare_database(path), asyncio.get_running_loop(), [perf_counter()]
    with closing(connection), ThreadPoolExecutor(1) as thread:
        for body in bodies:
            await loop.run_in_executor(thread, bare_commit, connection, body)
            times.append(perf_counter())
    return [end - begin for begin, end in pairwise(times[::2])]


def bare_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log (body BLOB)")
    return connection


def bare_commit(connection: sqlite3.Connection, body: bytes) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO log VALUES (?)", (body,))
    connection.execute("COMMIT")


BARE = (bare_turn_seconds, bare_database, bare_commit)

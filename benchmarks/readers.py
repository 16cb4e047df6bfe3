"""An append until a reader in another process has it, against a bare poll of the same file."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles

from benchmarks.agents import new_store
from benchmarks.commits import bare_commit, bare_database
from benchmarks.figure import Figure, at_most
from benchmarks.processes import started
from benchmarks.runs import BODY, append, new_run
from benchmarks.setting import Setting
from psych_runtime import RunId
from psych_runtime.store.sqlite import SQLiteStore

# How often the bare reader looks: as often as a watch on a log does.
LOOK_SECONDS = 0.010
ALLOWED_MS = 10.0
PATIENCE_SECONDS = 30.0


def measure(setting: Setting) -> Iterator[Figure]:
    appends = setting.size(100, least=2)
    rounds = [
        (asyncio.run(delays(setting.new_file(), appends)), bare_delays(setting.new_file(), appends))
        for _ in range(setting.rounds)
    ]
    ours, bare = ([[1e3 * delay for delay in each[side]] for each in rounds] for side in (0, 1))
    medians = [median(each) for each in ours]
    yield Figure("append until read, p50 / 10 ms", "ms", medians, [ALLOWED_MS] * len(rounds), at_most(1))
    yield Figure(
        "append until read, p50 / bare poll", "ms", medians, [median(each) for each in bare], at_most(2)
    )
    yield Figure(
        "append until read, p99 / bare poll", "ms", [p99(each) for each in ours], [p99(each) for each in bare]
    )


def p99(delays: list[float]) -> float:
    return quantiles(delays, n=100, method="inclusive")[-1]


def hold_still() -> None:
    """A while of any length, so that appends come at any moment of a poll."""
    time.sleep(random.uniform(2, 4) * LOOK_SECONDS)


# --- ours --------------------------------------------------------------------------------------------


async def delays(path: Path, appends: int) -> list[float]:
    """Seconds from before each append until a watch on its log has led to it."""
    async with new_store("SQLite", path) as store:
        run_id, head = await new_run(store)
        with started(follow, path, run_id, head.seq + appends) as reader:
            reader.pipe.recv()
            written: list[float] = []
            for _ in range(appends):
                await asyncio.to_thread(hold_still)
                written.append(time.monotonic())
                head = await append(store, run_id, head)
            seen: list[float] = reader.pipe.recv()
    return [later - sooner for sooner, later in zip(written, seen, strict=True)]


def follow(pipe: Connection, path: Path, run_id: RunId, last: int) -> None:
    """In the other process: say when each entry was read."""
    asyncio.run(_follow(pipe, path, run_id, last))


async def _follow(pipe: Connection, path: Path, run_id: RunId, last: int) -> None:
    seen: list[float] = []
    async with SQLiteStore(path) as store, store.changes([run_id]) as watch:
        after = (await store.get_run(run_id)).head.seq
        pipe.send("ready")
        while after < last:
            await watch.wait(PATIENCE_SECONDS)
            for entry in await store.read(run_id, after):
                seen.append(time.monotonic())
                after = entry.seq
    pipe.send(seen)


# --- bare --------------------------------------------------------------------------------------------


def bare_delays(path: Path, appends: int) -> list[float]:
    """The same of rows that another process looks for."""
    with closing(bare_database(path)) as connection, started(poll, path, appends) as reader:
        reader.pipe.recv()
        written: list[float] = []
        for _ in range(appends):
            hold_still()
            written.append(time.monotonic())
            bare_commit(connection, BODY)
        seen: list[float] = reader.pipe.recv()
    return [later - sooner for sooner, later in zip(written, seen, strict=True)]


def poll(pipe: Connection, path: Path, last: int) -> None:
    """In the other process: say when each row was read."""
    seen: list[float] = []
    with closing(sqlite3.connect(path)) as connection:
        pipe.send("ready")
        while len(seen) < last:
            time.sleep(LOOK_SECONDS)
            for _ in connection.execute("SELECT body FROM log WHERE rowid > ?", (len(seen),)).fetchall():
                seen.append(time.monotonic())
    pipe.send(seen)

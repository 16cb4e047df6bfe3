"""What a file holds of an entry beside its body, and what an export of a long log holds in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from benchmarks.agents import AGENT, REGISTRY, TimedModel, new_store
from benchmarks.figure import Figure, at_most
from benchmarks.logs import LONG_RUN, turns_for, written
from benchmarks.setting import Setting
from benchmarks.streams import peak
from psych_runtime import Version, export_run, session

ALLOWED_BYTES = 250.0


# Over so many, in several Runs, a page more or less of the file says nothing.
TURNS = 20


def measure(setting: Setting) -> Iterator[Figure]:
    yield from entries(setting)
    yield turns(setting)


# --- entries -----------------------------------------------------------------------------------------


def entries(setting: Setting) -> Iterator[Figure]:
    few, many = setting.size(10_000, least=1_000), setting.size(100_000, least=2_000)
    files = {length: setting.new_file() for length in (1, few, many)}
    held = {length: asyncio.run(fill(file, turns_for(length))) for length, file in files.items()}
    grown = files[many].stat().st_size - files[1].stat().st_size
    count, bodies = (late - early for late, early in zip(held[many], held[1], strict=True))
    beside = (grown - bodies) / count
    yield Figure(
        f"bytes of an entry beside its body / {ALLOWED_BYTES:g}",
        "bytes",
        [beside],
        [ALLOWED_BYTES],
        at_most(1),
    )
    peaks = [(peak(exported(files[many])), peak(exported(files[few]))) for _ in range(setting.rounds)]
    ours, against = zip(*peaks, strict=True)
    yield Figure(f"peak of an export of {many} entries / of {few}", "MiB", ours, against, at_most(1.2))


async def fill(file: Path, turns: int) -> tuple[int, int]:
    """A file with one Run of so many turns: its entries, and the bytes of their bodies.

    Closed, all of it is in the file itself.
    """
    log = written(turns)
    async with new_store("SQLite", file) as store:
        await store.put_version(Version.of(AGENT))
        await log.store(store)
        entries = log.entries(store.codec)
        return len(entries), sum(len(entry.body) for entry in entries)


async def exported(file: Path) -> None:
    async with new_store("SQLite", file) as store:
        async for _ in export_run(store, LONG_RUN):
            pass


# --- turns -------------------------------------------------------------------------------------------


def turns(setting: Setting) -> Figure:
    """What a turn adds to the file, late in a Run and early."""
    late, early = setting.size(400, least=2 * TURNS), TURNS // 2
    (ours, against) = (turn_bytes(setting, about) for about in (late, early))
    return Figure(f"stored bytes of turn {late} / of turn {early}", "bytes", [ours], [against], at_most(1.1))


def turn_bytes(setting: Setting, about: int) -> float:
    """The bytes of a turn, of the usual one of those about this one."""
    runs = setting.size(4)
    ends = [about + reach for reach in (-TURNS // 2, TURNS // 2)]
    files = [setting.new_file() for _ in ends]
    for file, made in zip(files, ends, strict=True):
        asyncio.run(drive(file, runs, made))
    first, last = (file.stat().st_size for file in files)
    return (last - first) / (runs * TURNS)


async def drive(file: Path, runs: int, turns: int) -> None:
    """Make a file in which Runs have made so many turns each."""
    async with (
        new_store("SQLite", file) as store,
        session(TimedModel(turns), store=store, registry=REGISTRY) as local,
    ):
        for _ in range(runs):
            await local.ask(AGENT, "Where are my orders?", timeout=600)

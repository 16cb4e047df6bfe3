"""Processes on one SQLite file that are killed and started again at random, and what is left of it."""

import asyncio
import json
import multiprocessing
import random
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from psych_runtime import RunHeader, RunQuery, Store, open_store
from psych_runtime.testing import EffectLedger, audit
from psych_runtime.testing.ledger import Invocation
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import pages
from psych_runtime_core.ports.runs import RunState
from tests.e2e import fleet_process
from tests.e2e.fleet_process import SPEC, Orders
from tests.e2e.stage import entries

# A server that has imported all there is forks them: to start one costs milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([fleet_process.__name__])
SETTLED = frozenset({RunState.SETTLED})


@dataclass(frozen=True)
class Trial:
    """So many processes that begin so many Runs each and are killed for so long; `seed` says which, when."""

    folder: Path
    processes: int
    runs_of_each: int
    seconds: float
    concurrency: int
    lease_seconds: float
    seed: int = 0

    @property
    def path(self) -> Path:
        return self.folder / "psych.db"

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    @property
    def ledger(self) -> EffectLedger:
        return EffectLedger(self.folder / "ledger")


@dataclass(frozen=True)
class Outcome:
    """How it went, in numbers."""

    kills: int
    runs: int
    attempts: int
    settled_at_last_kill: int


def tried(trial: Trial) -> Outcome:
    """Kill and start again, let all Runs end, and judge the file. Raises `AssertionError`."""
    outcome = asyncio.run(_tried(trial))
    with closing(sqlite3.connect(trial.path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert verified(trial.url) == {"schema": "psych.verify/1", "bad": [], "runs": outcome.runs, "ok": True}
    return outcome


def verified(url: str) -> object:
    """What `psych log verify --all` says."""
    command = (sys.executable, "-m", "psych_runtime", "log", "verify", "--all", "--store", url, "--json")
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)


async def _tried(trial: Trial) -> Outcome:
    async with open_store(trial.url, migrate=True) as store:
        with fleet(trial) as processes:
            await _settled(store, 1)
            kills = await killed_at_random(trial, processes)
            settled = len(await _found(store, SETTLED))
            await _settled(store, trial.processes * trial.runs_of_each)
        headers = await _found(store)
        await _judge(store, headers, trial)
        return Outcome(kills, len(headers), sum(each.attempt_count for each in headers), settled)


@contextmanager
def fleet(trial: Trial) -> Generator[list[ForkServerProcess]]:
    """The processes, which end with the block."""
    processes = [start(trial, number) for number in range(trial.processes)]
    try:
        yield processes
    finally:
        for process in processes:
            kill(process)


def start(trial: Trial, number: int) -> ForkServerProcess:
    orders = Orders(
        url=trial.url,
        ledger=str(trial.folder / "ledger"),
        tenant=f"tenant_{number}",
        runs=trial.runs_of_each,
        concurrency=trial.concurrency,
        lease_seconds=trial.lease_seconds,
    )
    process = CONTEXT.Process(target=fleet_process.run, args=(orders,), daemon=True)
    process.start()
    return process


def kill(process: ForkServerProcess) -> None:
    """SIGKILL, unless it ended by itself: then that is what is wrong."""
    process.kill()
    process.join()
    assert process.exitcode == -9
    process.close()


async def killed_at_random(trial: Trial, processes: list[ForkServerProcess]) -> int:
    """Now and then one process, or all at once, is killed and another takes its place; how many were."""
    chance = random.Random(trial.seed)
    clock, kills = asyncio.get_running_loop().time, 0
    end = clock() + trial.seconds
    while clock() < end:
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        numbers = range(trial.processes)
        hit: Sequence[int] = numbers if chance.random() < 0.1 else [chance.choice(numbers)]
        for number in hit:
            kill(processes[number])
        for number in hit:
            processes[number] = start(trial, number)
        kills += len(hit)
    return kills


async def _settled(store: Store, runs: int) -> None:
    """So many Runs have settled."""
    async with asyncio.timeout(90):
        while len(await _found(store, SETTLED)) < runs:  # noqa: ASYNC110 - processes tell nobody here
            await asyncio.sleep(0.1)


async def _found(store: Store, states: frozenset[RunState] = frozenset(RunState)) -> list[RunHeader]:
    query = RunQuery(states=states, limit=1_000)
    return [header async for page in pages(partial(store.find_runs, query)) for header in page.items]


async def _judge(store: Store, headers: Sequence[RunHeader], trial: Trial) -> None:
    """Each order is one Run, which settled once, and nothing that may be done once was done twice."""
    orders = {(header.scope.tenant, header.idempotency_key) for header in headers}
    assert len(orders) == len(headers) == trial.processes * trial.runs_of_each
    effects: defaultdict[RunId, list[Invocation]] = defaultdict(list)
    for invocation in trial.ledger.invocations:
        effects[invocation.run_id].append(invocation)
    for header in headers:
        log = await entries(store, header.run_id)
        found = audit(log, effects=effects[header.run_id], header=header, spec=SPEC)
        assert not found, "\n".join(map(str, found))
        assert [entry.type for entry in log].count("run_settled") == 1
        assert header.terminal == "completed"

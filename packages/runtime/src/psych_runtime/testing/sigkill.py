"""Killing a scenario's process with SIGKILL, at its commits and around its tools, on a real store."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

from psych_runtime import open_store
from psych_runtime.testing.crash import CrashFailed, CrashReport, FailedPoint, check_sound, chosen, logs
from psych_runtime.testing.forks import Fork, Forks, forks_of
from psych_runtime.testing.ledger import EffectLedger
from psych_runtime.testing.play import Pace, Played, dispatched, played_run
from psych_runtime.testing.scenario import Scenario
from psych_runtime.testing.sigkill_fork import scenario_of
from psych_runtime.testing.verdict import unknown_calls, violations
from psych_runtime.testing.virtual import refuse_inside_a_loop

FORK = "psych_runtime.testing.sigkill_fork"
PACE = Pace(lease=1.0, poll=0.2, patience=60.0)
# Processes side by side, for each core: most of a trial is waiting for a lease to run out.
TRIALS_PER_CORE = 4
# Things that happen at once share a commit or do not. Points are those that came up in so many undisturbed
# playings, and one that does not come up is tried again so many times.
PLAYINGS, TRIES = 3, 20


def sigkill_everywhere(target: str, *, store_url: str, points: int = 6) -> CrashReport:
    """Play a scenario in a process that is killed at a point, then in a second one, which must recover it.

    `target` is `module:scenario`, importable here and there. A point is before or after a commit or a run of
    a tool; at most `points` are tried, the ends and those around tools first. `{}` in `store_url` becomes the
    number of the trial, and then trials go side by side; without it they go one after another on one store,
    which must be theirs alone. What they stored stays there, to be looked at.

    Raises `CrashFailed`, `ValueError` for a bad target, inside a running loop `RuntimeError`.
    """
    refuse_inside_a_loop("sigkill_everywhere")
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_tried(target, store_url, points, Path(folder)))


async def _tried(target: str, store_url: str, points: int, folder: Path) -> CrashReport:
    scenario = scenario_of(target)
    async with forks_of(FORK, target, store_url, folder=folder) as forks:
        trials = _Trials(scenario, store_url, forks, folder)
        baseline, *others = await asyncio.gather(*(trials.play() for _ in range(PLAYINGS)))
        check_sound(scenario, baseline.played)
        named = [point for point in baseline.points if all(point in other.points for other in others)]
        busy = [number for number, name in enumerate(named) if " tool " in name]
        tried = [named[number] for number in chosen(len(named), busy, points, seed=0)]
        results = await asyncio.gather(*(trials.kill(point) for point in tried))
    failed: list[FailedPoint] = []
    unknown: list[str] = []
    for number, (point, result) in enumerate(zip(tried, results, strict=True)):
        found = tuple(result.broken) + tuple(violations(scenario, baseline.played, result.played))
        if found:
            failed.append(FailedPoint(number, point, found, logs(result.played)))
        elif any(map(unknown_calls, result.played.runs)):
            unknown.append(point)
    if failed:
        raise CrashFailed(failed, len(tried))
    return CrashReport(len(tried), tuple(unknown), sum(result.played.seconds for result in results))


@dataclass
class _Result:
    """What came of a trial: the points that were passed, and what the processes did wrong."""

    played: Played
    points: list[str]
    broken: list[str]


@dataclass
class _Heard:
    """What the processes of a trial said."""

    points: list[str] = field(default_factory=list[str])
    acknowledged: list[str] = field(default_factory=list[str])
    heads: list[bytes] = field(default_factory=list[bytes])
    error: str | None = None
    settled: bool = False


@dataclass
class _Trials:
    """One playing each, in processes of its own."""

    scenario: Scenario
    store_url: str
    forks: Forks
    folder: Path

    def __post_init__(self) -> None:
        side_by_side = TRIALS_PER_CORE * (os.cpu_count() or 1) if "{}" in self.store_url else 1
        self._room = asyncio.Semaphore(side_by_side)
        self._numbers = count()

    async def play(self) -> _Result:
        """Undisturbed. Raises `AssertionError` when it fails."""
        result = await self._in_room(None)
        if result.broken:
            raise AssertionError("; ".join(result.broken))
        return result

    async def kill(self, point: str) -> _Result:
        """Killed at `point`, in as many tries as it takes to get there."""
        result = await self._in_room(point)
        for _ in range(TRIES - 1):
            if point in result.points:
                break
            result = await self._in_room(point)
        if point not in result.points:
            result.broken.append(f"the point was not reached again in {TRIES} tries")
        return result

    async def _in_room(self, point: str | None) -> _Result:
        async with self._room:
            return await self._trial(point)

    async def _trial(self, point: str | None) -> _Result:
        number = next(self._numbers)
        url, ledger = self.store_url.replace("{}", str(number)), self.folder / f"ledger-{number}"
        began_at = time.monotonic()
        heard = _Heard()
        async with open_store(url, migrate=True) as store:
            run_id = await dispatched(self.scenario, store)
            orders = {"url": url, "run_id": run_id, "ledger": str(ledger), "pace": asdict(PACE)}
            broken = [*await self._act({**orders, "kill_at": point}, heard, point)]
            if not heard.settled:
                broken += await self._act({**orders, "kill_at": None}, heard, None)
            run = await played_run(store, run_id, heard.acknowledged)
        seconds = time.monotonic() - began_at
        effects = EffectLedger(ledger).invocations
        played = Played((run,), effects, tuple(heard.heads), seconds, late=seconds)
        return _Result(played, heard.points, broken)

    async def _act(self, orders: dict[str, object], heard: _Heard, point: str | None) -> Iterator[str]:
        """One process, killed at `point` if it gets there; what it did wrong."""
        fork = await self.forks.start(orders)
        try:
            async with asyncio.timeout(PACE.patience):
                killed = await _listen(fork, heard, point)
                code = await fork.kill() if killed else await fork.ended()
        except TimeoutError:
            await fork.kill()
            return iter([f"a process had not settled its Run after {PACE.patience:g} seconds"])
        expected = -signal.SIGKILL if killed else 0
        if code != expected:
            return iter([f"a process ended with {code}, not {expected}: {heard.error}"])
        return iter(())


async def _listen(fork: Fork, heard: _Heard, point: str | None) -> bool:
    """Hear a process out; True as soon as it stands at `point`."""
    async for message in fork.messages():
        match message:
            case {"point": str(passed)}:
                if point is not None or not heard.settled:
                    heard.points.append(passed)
                if passed == point:
                    return True
            case {"acknowledged": str(done)}:
                heard.acknowledged.append(done)
            case {"head": str(digest)}:
                heard.heads.append(bytes.fromhex(digest))
            case {"error": str(error)}:
                heard.error = error
            case _:
                heard.settled = True
    return False

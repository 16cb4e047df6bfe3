"""Crashing a scenario's Worker at every point of its work, and judging what becomes of the Run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass

from psych_runtime.testing.play import Pace, Played, play
from psych_runtime.testing.scenario import Scenario, ScenarioStuck
from psych_runtime.testing.switch import Points, Switch
from psych_runtime.testing.verdict import check_deterministic, log_table, too_late, unknown_calls, violations
from psych_runtime.testing.virtual import VirtualClock, refuse_inside_a_loop, run_virtual
from psych_runtime_core.ports.store import Store
from psych_runtime_memory import InMemoryStore

StoreFactory = Callable[[], AbstractAsyncContextManager[Store]]
SHOWN = 5
# A Run that real time drives, with leases of a second or two, is stuck after a minute.
REAL_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class CrashReport:
    """How many points were crashed at, those at which a call's end is unknown, and how long all Runs took."""

    points: int
    unknown: tuple[str, ...]
    virtual_seconds: float

    def __str__(self) -> str:
        unknown = f"{len(self.unknown)} of them left a call unknown"
        return f"{self.points} points, {unknown}, {self.virtual_seconds:.0f} seconds of Runs"


@dataclass(frozen=True, slots=True)
class FailedPoint:
    """A point at which a crash broke a rule; `where` is the port call, or the line that was to go on."""

    number: int
    where: str
    violations: tuple[str, ...]
    log: str

    def __str__(self) -> str:
        broken = "".join(f"\n  - {violation}" for violation in self.violations)
        return f"point {self.number}, {self.where}:{broken}\n{self.log}"


class CrashFailed(AssertionError):
    """A crash broke a rule. `failed` holds every such point; five are printed."""

    def __init__(self, failed: Sequence[FailedPoint], points: int) -> None:
        self.failed = tuple(failed)
        shown = "\n\n".join(map(str, self.failed[:SHOWN]))
        super().__init__(f"{len(self.failed)} of {points} points failed; the first are:\n\n{shown}")


def crash_everywhere(
    scenario: Scenario,
    *,
    at: Points = "commits",
    store: StoreFactory | None = None,
    limit: int = 2_000,
    seed: int = 0,
    lease_seconds: float = 30.0,
) -> CrashReport:
    """Play `scenario` undisturbed, then once for each point with its Worker dead from there on.

    `commits`: before and after each call of a port; `awaits`: before each step of a task. Of over `limit`
    points so many are drawn by `seed`, with the first, the last, and those around tools first of all. Time
    is virtual, on the in-memory store; with a `store` factory it is real, so give `lease_seconds` of 1 or 2.

    Raises `CrashFailed`, `ScenarioNotDeterministic`, `ScenarioStuck`, inside a running loop `RuntimeError`.
    """
    refuse_inside_a_loop("crash_everywhere")
    stage = _Stage(scenario, at, store, seed, lease_seconds)
    counted = Switch(at)
    baseline = stage.play(counted)
    check_deterministic(baseline, stage.play(Switch(at)))
    check_sound(scenario, baseline)
    points = chosen(counted.points, counted.busy, limit, seed)
    crashes = [stage.crash(number, baseline) for number in points]
    failed = [crash.failed for crash in crashes if crash.failed]
    if failed:
        raise CrashFailed(failed, len(points))
    unknown = tuple(crash.unknown for crash in crashes if crash.unknown)
    return CrashReport(len(points), unknown, baseline.seconds + sum(crash.seconds for crash in crashes))


def check_sound(scenario: Scenario, baseline: Played) -> None:
    """Raise `CrashFailed` where a rule is broken though nothing was disturbed."""
    found = tuple(violations(scenario, baseline, baseline))
    if found:
        raise CrashFailed([FailedPoint(0, "undisturbed", found, logs(baseline))], 1)


def chosen(count: int, busy: Sequence[int], limit: int, seed: int) -> list[int]:
    """At most `limit` numbers below `count`: the ends, the `busy` ones, and others drawn by `seed`."""
    if count <= limit:
        return list(range(count))
    drawn = random.Random(seed)
    first = dict.fromkeys([0, count - 1, *drawn.sample(busy, len(busy))])
    rest = [number for number in range(count) if number not in first]
    return sorted([*first, *drawn.sample(rest, len(rest))][:limit])


@dataclass(frozen=True, slots=True)
class _Crash:
    """What came of a crash at one point: `unknown` names the point if a call's end is."""

    failed: FailedPoint | None = None
    unknown: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class _Stage:
    """Where the scenario is played."""

    scenario: Scenario
    at: Points
    store: StoreFactory | None
    seed: int
    lease_seconds: float

    @property
    def pace(self) -> Pace:
        if self.store is None:
            return Pace(self.lease_seconds)
        return Pace(self.lease_seconds, poll=self.lease_seconds / 2, patience=REAL_PATIENCE_SECONDS)

    def play(self, switch: Switch) -> Played:
        async def main() -> Played:
            opened = self.store() if self.store else InMemoryStore(clock=VirtualClock())
            async with opened as store:
                return await play(self.scenario, store, self.pace, switch)

        with _settled_chance(self.seed):
            return run_virtual(main) if self.store is None else asyncio.run(main())

    def crash(self, number: int, baseline: Played) -> _Crash:
        """Play with the Worker dead from that point on, and judge it; a Run that never ends is a failure."""
        switch = Switch(self.at, number)
        try:
            played = self.play(switch)
        except ScenarioStuck as stuck:
            return _Crash(FailedPoint(number, switch.where, (str(stuck),), ""))
        found = tuple(self.judge(baseline, played, switch))
        if found:
            return _Crash(FailedPoint(number, switch.where, found, logs(played)), seconds=played.seconds)
        unknown = any(map(unknown_calls, played.runs))
        return _Crash(unknown=f"{number}: {switch.where}" if unknown else None, seconds=played.seconds)

    def judge(self, baseline: Played, played: Played, switch: Switch) -> Iterator[str]:
        if not switch.dead:
            yield "the point was not reached again"
        yield from (f"a task ignores its cancellation: {task}" for task in switch.undead)
        yield from violations(self.scenario, baseline, played)
        if self.store is None:
            yield from too_late(baseline, played, self.pace)


@contextmanager
def _settled_chance(seed: int) -> Generator[None]:
    """Pauses are spread by chance; each playing draws the same."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def logs(played: Played) -> str:
    return "\n".join(log_table(run.entries) for run in played.runs)

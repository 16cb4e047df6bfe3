"""Runs drawn by chance, on slow, lossy and contended stores, with Workers that die: each log is sound."""

import asyncio
from random import Random

import pytest

from psych_runtime import InMemoryStore, Store
from psych_runtime.testing import ConflictingStore, VirtualClock, audit, run_virtual
from psych_runtime.testing.play import Pace, Played, play
from psych_runtime.testing.switch import Switch
from tests.e2e.random_scenes import scene
from tests.e2e.stage import LossyStore, SlowStore

SEEDS = 120


def disturbed(store: Store, drawn: Random) -> Store:
    """`store` behind what chance puts in its way."""
    pause, rate = drawn.choice([0.0, 0.002, 0.03]), drawn.choice([0.0, 0.1, 0.3])
    store = SlowStore(store, lambda: drawn.choice([0.0, pause]))
    if rate:
        store = LossyStore(store, lambda: drawn.random() < rate, landed=lambda: drawn.random() < 0.5)
    return ConflictingStore(store, steers=drawn.randint(1, 3)) if drawn.random() < 0.3 else store


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_happens_the_log_is_sound_and_the_run_ends(seed: int) -> None:
    drawn, scenario = Random(seed), scene(seed)
    kill_at = drawn.randint(0, 200) if drawn.random() < 0.6 else None
    switch = Switch(drawn.choice(["commits", "awaits"]), kill_at)

    async def main() -> Played:
        played = await play(scenario, disturbed(InMemoryStore(clock=VirtualClock()), drawn), Pace(), switch)
        await asyncio.sleep(100)
        # The loop's own task, and none that a Worker or a tool left behind.
        assert len(asyncio.all_tasks()) == 1
        return played

    played = run_virtual(main)
    assert switch.undead == ()
    for run in played.runs:
        found = audit(run.entries, effects=played.effects, header=run.header, spec=scenario.spec)
        assert found == ()
        assert run.header.terminal is not None
        assert "attempt_failed" not in str(run.records[-1])

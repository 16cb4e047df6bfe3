"""A clock that a test moves by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.testing.clock import START, FakeClock
from psych_runtime_core.clock import Clock


def test_it_stands_still_at_the_start_of_2026() -> None:
    clock: Clock = FakeClock()
    assert clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.monotonic() == 0.0


async def test_advancing_moves_both_times() -> None:
    clock = FakeClock()
    await clock.advance(1.1)
    await clock.advance(0.0)
    assert (clock.now() - START, clock.monotonic()) == (timedelta(seconds=1.1), 1.1)


async def test_the_wall_alone_can_step_either_way() -> None:
    clock = FakeClock()
    await clock.advance(10.0)
    clock.step_wall(-3600.0)
    assert (clock.now() - START, clock.monotonic()) == (timedelta(seconds=10 - 3600), 10.0)


async def test_a_drifting_clock_passes_more_or_less_time_than_there_is() -> None:
    fast = FakeClock(drift=1.5)
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await fast.sleep(seconds)
        woken.append(fast.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(sleep, 3.0)
        await fast.advance(1.0)
        assert (fast.monotonic(), woken) == (1.5, [])
        await fast.advance(1.0)
    assert woken == [3.0]


steps = st.lists(st.floats(0.0, 100.0), min_size=1, max_size=5)


@given(sleeps=st.lists(st.floats(1e-6, 100.0), max_size=8), moves=steps)
def test_sleepers_wake_in_due_order_and_never_early(sleeps: list[float], moves: Sequence[float]) -> None:
    clock = FakeClock()
    woken: list[tuple[float, float, int]] = []

    async def sleeper(number: int) -> None:
        await clock.sleep(sleeps[number])
        woken.append((clock.monotonic(), sleeps[number], number))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(len(sleeps)):
                group.start_soon(sleeper, number)
            for move in moves:
                await clock.advance(move)
                due = sum(seconds <= clock.monotonic() for seconds in sleeps)
                assert (len(woken), clock.sleepers) == (due, len(sleeps) - due)
            await clock.advance(100.0)

    anyio.run(main)
    assert [number for _, _, number in woken] == sorted(range(len(sleeps)), key=lambda n: in_ticks(sleeps[n]))
    # A clock of whole microseconds wakes at the next one.
    assert all(seconds <= at + 5e-10 and at < seconds + 2e-6 for at, seconds, _ in woken)


def in_ticks(seconds: float) -> int:
    return math.ceil(round(seconds * 1e6, 3))


async def test_each_wakes_at_its_own_moment_and_runs_to_its_next_wait() -> None:
    clock = FakeClock()
    seen: list[tuple[str, float]] = []

    async def beat(name: str, every: float) -> None:
        for _ in range(3):
            await clock.sleep(every)
            seen.append((name, clock.monotonic()))

    async with anyio.create_task_group() as group:
        group.start_soon(beat, "slow", 3.0)
        group.start_soon(beat, "quick", 2.0)
        await clock.advance(100.0)
    assert seen == [("quick", 2), ("slow", 3), ("quick", 4), ("slow", 6), ("quick", 6), ("slow", 9)]


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e-10])
async def test_a_sleep_of_no_time_is_one_turn_of_the_loop(seconds: float) -> None:
    clock = FakeClock()
    with anyio.fail_after(5):
        await clock.sleep(seconds)
    assert clock.monotonic() == 0.0


async def test_who_was_cancelled_sleeps_no_more() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep, 1.0)
        group.start_soon(clock.sleep, math.inf)
        await clock.advance(0.5)
        assert clock.sleepers == 2
        group.cancel_scope.cancel()
    assert clock.sleepers == 0
    await clock.advance(1e9)
    assert clock.monotonic() == 1e9 + 0.5


@pytest.mark.parametrize("seconds", [-0.1, math.nan])
async def test_time_cannot_be_taken_back(seconds: float) -> None:
    with pytest.raises(ValueError, match="step_wall"):
        await FakeClock().advance(seconds)


def test_a_clock_needs_a_zone_and_goes_forward() -> None:
    with pytest.raises(ValueError, match="timezone"):
        FakeClock(datetime(2026, 1, 1))  # noqa: DTZ001 - the naive time that is refused
    with pytest.raises(ValueError, match="more than 0"):
        FakeClock(drift=0.0)

"""When a Worker looks at the Runs it parked."""

from datetime import timedelta

from psych_runtime.testing import FakeClock
from psych_runtime.worker.claiming import MOMENTS_KEPT, DueMoments


async def test_the_soonest_moment_counts_until_it_has_come() -> None:
    clock = FakeClock()
    due = DueMoments(clock)
    assert due.seconds_to_next() is None
    due.add(None)
    due.add(clock.now() + timedelta(seconds=30))
    due.add(clock.now() + timedelta(seconds=10))
    assert due.seconds_to_next() == 10
    await clock.advance(12)
    assert due.seconds_to_next() == 0
    due.drop_past()
    assert due.seconds_to_next() == 18


def test_ten_thousand_parked_runs_are_not_ten_thousand_moments() -> None:
    clock = FakeClock()
    due = DueMoments(clock)
    for seconds in range(10_000, 0, -1):
        due.add(clock.now() + timedelta(seconds=seconds))
    assert due.seconds_to_next() == 1
    assert len(vars(due)["_moments"]) <= 2 * MOMENTS_KEPT

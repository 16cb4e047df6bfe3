"""Who keeps the leases of a Worker notices when its loop stands still."""

import asyncio
import logging

import pytest

from psych_runtime import InMemoryStore
from psych_runtime.testing import FakeClock
from psych_runtime.worker.lease import Keeper


class LateClock(FakeClock):
    """A clock on which each sleep takes so many seconds more, as on a loop that is blocked."""

    def __init__(self, late: float) -> None:
        super().__init__()
        self.late = late

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds + self.late)


@pytest.mark.parametrize(("late", "said"), [(0.0, []), (9.0, []), (12.5, ["12.5 s; tools at work: none"])])
async def test_a_loop_that_stood_still_for_long_is_told_of(
    late: float, said: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    clock = LateClock(late)
    keeper = asyncio.create_task(Keeper(InMemoryStore(clock=clock), {}, lease_seconds=30.0).keep())
    with caplog.at_level(logging.WARNING, "psych_runtime.worker"):
        await clock.advance(0)
        await clock.advance(10 + late)
    keeper.cancel()
    stalls = [
        record.getMessage().removeprefix("the event loop stood still for ") for record in caplog.records
    ]
    assert stalls == said

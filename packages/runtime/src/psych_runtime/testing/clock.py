"""A clock that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count

START = datetime(2026, 1, 1, tzinfo=UTC)
# Turns of the loop that a woken task gets to reach its next wait: more than any chain of awaits that waits
# for nothing outside takes. A loop does not say when its tasks are all blocked.
TURNS = 100


class FakeClock:
    """A `Clock` that moves by `advance` alone, in whole microseconds.

    It reads `drift` seconds later for each second that it is advanced. Use it on a loop that runs in real
    time; on a `VirtualLoop`, which moves by itself, the clock is `VirtualClock`.
    """

    def __init__(self, start: datetime = START, *, drift: float = 1.0) -> None:
        if start.tzinfo is None:
            raise ValueError("start is naive; give it a timezone")
        if not drift > 0:
            raise ValueError(f"drift is {drift}; a clock goes forward, give more than 0")
        self._wall, self._drift = start.astimezone(UTC), drift
        self._elapsed = 0
        self._waiting: list[_Sleeper] = []
        self._order = count()

    def now(self) -> datetime:
        return self._wall + timedelta(microseconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed / 1e6

    async def sleep(self, seconds: float) -> None:
        due = math.inf if seconds == math.inf else self._elapsed + microseconds(seconds)
        if due <= self._elapsed:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heappush(self._waiting, _Sleeper(due, next(self._order), woken))
        await woken

    @property
    def sleepers(self) -> int:
        """How many tasks sleep on this clock now."""
        return sum(not sleeper.woken.done() for sleeper in self._waiting)

    async def advance(self, seconds: float) -> None:
        """Move both times on. Who is due on the way wakes in order, each run to its next wait.

        Raises `ValueError` for a negative time.
        """
        if not seconds >= 0:
            raise ValueError(f"a clock cannot be advanced by {seconds} seconds; step_wall goes back")
        target = self._elapsed + microseconds(seconds * self._drift)
        await _let_others_run()
        while self._waiting and self._waiting[0].due <= target:
            sleeper = heappop(self._waiting)
            if sleeper.woken.done():
                continue
            self._elapsed = max(self._elapsed, int(sleeper.due))
            sleeper.woken.set_result(None)
            await _let_others_run()
        self._elapsed = max(self._elapsed, target)

    def step_wall(self, seconds: float) -> None:
        """Move the wall clock alone, back too: nobody wakes."""
        self._wall += timedelta(seconds=seconds)


@dataclass(order=True, slots=True)
class _Sleeper:
    due: float
    order: int
    woken: asyncio.Future[None] = field(compare=False)


async def _let_others_run() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def microseconds(seconds: float) -> int:
    """`seconds` in whole microseconds, never less. Half a nanosecond is the noise of a float, no time."""
    nearest = round(seconds * 1e6)
    return nearest if nearest / 1e6 + 5e-10 >= seconds else nearest + 1

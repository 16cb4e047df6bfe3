"""The time of a store: moved where its clock can be moved, else waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Protocol, TypeVar, runtime_checkable

from anyio import create_task_group
from anyio.lowlevel import checkpoint

from psych_runtime_contract.plugin import leave_out
from psych_runtime_core.clock import Clock

T = TypeVar("T")

MICROSECOND = timedelta(microseconds=1)
STEP_SECONDS = 0.1
"""So much is passed at once while something is waited for: less than a watch lets pass between two looks."""
TURNS = 5
"""So often the loop goes round before time is moved: an answer that is there needs none."""


@runtime_checkable
class MovableClock(Clock, Protocol):
    """A clock that stands still until a test moves it, as `psych_runtime.testing.clock.FakeClock` does."""

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, and wake who slept until then."""
        ...


@runtime_checkable
class FallingClock(Clock, Protocol):
    """A clock that a test sets back, as `psych_runtime.testing.clock.FakeClock` can be."""

    def step_wall(self, seconds: float) -> None:
        """Move `now()` alone, and nobody wakes; back where `seconds` is negative."""
        ...


class StoreTime:
    """The time of a store, by its own clock.

    Where that clock moves by itself, time is waited for, and an instant is known as well as it can be told
    from outside: it lies between two readings of the clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moved = clock if isinstance(clock, MovableClock) else None

    @property
    def is_moved(self) -> bool:
        """Whether time stands still while nobody moves it."""
        return self._moved is not None

    def must_be_moved(self) -> None:
        """Leave a rule out that lets more time pass than anybody waits for."""
        if not self.is_moved:
            leave_out("store.clock.advance(seconds)")

    def now(self) -> datetime:
        return self._clock.now()

    def after(self, seconds: float) -> datetime:
        """The instant so long from now."""
        return self.now() + timedelta(seconds=seconds)

    async def passes(self, seconds: float) -> None:
        """Let `seconds` pass, or a little more."""
        await self.reaches(self.after(seconds))

    async def reaches(self, instant: datetime) -> None:
        """Now it is `instant`: exactly where time is moved, else that or a little later."""
        if self._moved is None:
            # The clock of a server may be known a little less exactly than the server knows it.
            instant += timedelta(seconds=0.05)
        while (left := (instant - self.now()) / MICROSECOND) > 0:
            await (self._clock.sleep if self._moved is None else self._moved.advance)(left / 1e6)

    @property
    def may_fall_back(self) -> bool:
        """Whether the clock can be set back."""
        return isinstance(self._clock, FallingClock)

    def falls_back(self, seconds: float) -> None:
        """Set the clock back by so much; where it cannot be, leave the rule out."""
        if not isinstance(self._clock, FallingClock):
            leave_out("store.clock.step_wall(seconds)")
        self._clock.step_wall(-seconds)

    async def nears(self, instant: datetime) -> None:
        """Now it is a microsecond before `instant`, where time is moved; else nothing passes."""
        if self._moved is not None:
            await self.reaches(instant - MICROSECOND)

    async def passes_until(self, call: Callable[[], Awaitable[T]]) -> T:
        """What `call` answers, which may take time; it passes meanwhile."""
        if self._moved is None:
            return await call()
        answers: list[T] = []

        async def ask() -> None:
            answers.append(await call())

        async with create_task_group() as group:
            group.start_soon(ask)
            for _ in range(TURNS):
                await checkpoint()
            while not answers:
                await self._moved.advance(STEP_SECONDS)
        return answers[0]

    def told(self, instant: datetime | None, since: datetime) -> datetime | None:
        """`instant` if it may be the store's time of something done since `since`, else `since`.

        An expected instant is written so: where time is moved there is only one that is right.
        """
        slack = timedelta(seconds=0 if self.is_moved else 1)
        return instant if instant and since - slack <= instant <= self.now() + slack else since

"""The loop that drives a Run: decide, commit, start what is new, take what comes back, again."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import anyio
import anyio.lowlevel

from psych_runtime.attempt.alarm import Alarm
from psych_runtime.attempt.flights import Flights, Performer, Work
from psych_runtime.attempt.inbox import Brought, Inbox
from psych_runtime.attempt.journal import Journal, LostRace
from psych_runtime.attempt.orders import Orders
from psych_runtime.attempt.outcome import Ended
from psych_runtime_core.clock import Clock
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.engine.effects import Append, CallModel, Effect, Park, RunTool, Settle
from psych_runtime_core.engine.plan import Plans
from psych_runtime_core.ports.runs import NOW
from psych_runtime_core.records import MAX_COMMIT_BYTES, Record
from psych_runtime_core.state.legal import Group, group_of


@dataclass(frozen=True)
class Pace:
    """The clock, and for how long an idle Attempt waits in place before it gives its Run back."""

    clock: Clock
    linger: timedelta


class Driver:
    """Drives one Run from its claim to the moment the lease is given back."""

    _flights: Flights
    _alarm: Alarm

    def __init__(self, journal: Journal, plans: Plans, inbox: Inbox, orders: Orders, pace: Pace) -> None:
        self._journal, self._plans, self._inbox = journal, plans, inbox
        self._orders, self._pace = orders, pace
        self._facts: deque[Brought] = deque()
        self._begun: list[Brought] = []
        # Cut short without a trace: the next Attempt goes on there, and this one must not begin it again.
        self._left: set[Effect] = set()
        self.rests_until: datetime | None = None

    async def run(self, perform: Performer) -> Ended:
        """Drive until the Run settles, rests or is handed over.

        Raises `LeaseLost`, `LogDiverged`, `CorruptLog`, and a performer's bug. What is in flight ends.
        """
        failure: Exception | None = None
        ended: Ended | None = None
        async with anyio.create_task_group() as group:
            self._flights = Flights(group, self._inbox, perform)
            self._alarm = Alarm(group, self._pace.clock, self._inbox.wake)
            try:
                ended = await self._loop()
            except Exception as error:
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        assert ended is not None, "the loop ends with a reason or an error"
        return ended

    async def _loop(self) -> Ended:
        while True:
            try:
                ended, until = await self._step()
            except LostRace as race:
                self._facts.appendleft(Brought(Park(None), race.observed, observed=True))
                continue
            if ended is not None:
                return ended
            if self._journal.is_behind:
                continue
            self._alarm.set(until)
            self._facts.extend(await self._inbox.wait())

    async def _step(self) -> tuple[Ended | None, datetime | None]:
        draining = self._orders.draining
        await self._take()
        await self._look()
        effects = await self._decide(draining)
        if self._journal.state.settled is not None:
            await self._journal.commit()
            return Ended.SETTLED, None
        new = [
            effect
            for effect in _work(effects)
            if effect not in self._flights and effect not in self._left and _may_start(effect, draining)
        ]
        rest = None if new or len(self._flights) else self._rest(effects, draining)
        if rest is not None:
            await self._give_back(rest)
            return Ended.HANDED_OVER if draining else Ended.PARKED, None
        await self._start(new)
        # What is staged may lose its race, so nothing is cut before it stands.
        if not _begins(effects):
            self._flights.cut_all_but(_work(effects))
        if self._orders.stopping:
            self._flights.cut_all()
        return None, _park(effects)

    async def _take(self) -> None:
        """Stage what was observed; what a `begin` brought waits until the engine is asked about it."""
        while self._facts:
            brought = self._facts.popleft()
            self._flights.landed(brought.effect)
            if not brought.records:
                self._left.add(brought.effect)
            if not brought.observed:
                self._begun.append(brought)
                continue
            self._journal.stage_observed(brought.records)
            if self._journal.staged_bytes > MAX_COMMIT_BYTES // 2:
                await self._journal.commit()

    async def _look(self) -> None:
        """Fold what others wrote, if they did."""
        if self._inbox.moved or self._journal.is_behind:
            self._inbox.moved = False
            self._journal.stage_observed(await self._journal.refresh())

    async def _decide(self, draining: bool) -> tuple[Effect, ...]:
        """Stage what follows until nothing more does; the effects that may be in flight then."""
        while True:
            effects = next_effects(self._plans, self._journal.state, self._pace.clock.now())
            if self._stage(effects, draining):
                continue
            if draining or not await self._begin(effects):
                return effects

    def _stage(self, effects: tuple[Effect, ...], draining: bool) -> bool:
        if draining and _begins(effects):
            return False
        staged = False
        for effect in effects:
            if isinstance(effect, Append):
                self._journal.stage(effect.records)
                staged = True
            elif isinstance(effect, Settle):
                self._journal.stage((effect.record,))
                staged = True
        return staged

    async def _begin(self, effects: tuple[Effect, ...]) -> bool:
        """Let calls begin; those that wait for nobody share this commit. Whether to ask the engine again."""
        asked = {brought.effect for brought in self._begun}
        new = [
            effect
            for effect in effects
            if isinstance(effect, RunTool) and effect.mode == "begin"
            if effect not in self._flights and effect not in asked
        ]
        for effect in new:
            self._flights.start(effect)
        if new:
            await anyio.lowlevel.checkpoint()
            self._facts.extend(self._inbox.take())
        # What ended meanwhile makes `effects` old: they still hold the run of a call that is over.
        ended = any(brought.observed for brought in self._facts)
        await self._take()
        begun, self._begun = self._begun, []
        wanted = [brought for brought in begun if brought.effect in effects]
        for brought in wanted:
            self._journal.stage(brought.records)
        return ended or bool(wanted)

    def _rest(self, effects: tuple[Effect, ...], draining: bool) -> Park | None:
        """When somebody must look again, if there is no point in holding the Run until then."""
        if draining:
            return Park(NOW)
        until = _park(effects)
        if self._journal.state.parked:
            return Park(until)
        if until is None:
            raise RuntimeError(f"nothing is left to do for {self._journal.run_id}, and it is not settled")
        return Park(until) if until - self._pace.clock.now() >= self._pace.linger else None

    async def _give_back(self, rest: Park) -> None:
        self.rests_until = rest.until
        if self._journal.has_work:
            await self._journal.commit(rest)
        else:
            await self._journal.give_back(rest.until)

    async def _start(self, new: Sequence[Work]) -> None:
        if self._journal.has_work:
            await self._journal.commit()
        self._journal.hold.check()
        for effect in new:
            self._flights.start(effect)


def _work(effects: tuple[Effect, ...]) -> list[Work]:
    return [effect for effect in effects if isinstance(effect, CallModel | RunTool)]


def _park(effects: tuple[Effect, ...]) -> datetime | None:
    return next((effect.until for effect in effects if isinstance(effect, Park)), None)


def _begins(effects: tuple[Effect, ...]) -> bool:
    """Whether something would begin that a draining Worker leaves to the next one."""
    appended: list[Record] = [
        record for effect in effects if isinstance(effect, Append) for record in effect.records
    ]
    return any(group_of(record) is Group.BEGINS for record in appended)


def _may_start(effect: Work, draining: bool) -> bool:
    """A start that is committed is carried out, drain or not."""
    return not draining or isinstance(effect, CallModel) or effect.mode == "run"

"""Drives a Run with a list for a log: decides, performs, commits, dies and is taken up again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeGuard

from packages.core.tests.plans import HASH
from packages.core.tests.proposals import Proposer
from packages.core.tests.world import World
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.engine.decide import due_effects, next_effects
from psych_runtime_core.engine.effects import Append, CallModel, Effect, Park, RunTool, Settle
from psych_runtime_core.records import Record, stamp
from psych_runtime_core.state.check import check
from psych_runtime_core.state.fold import apply, fold, keep, rewind, stage
from psych_runtime_core.state.lane import LanePhase
from psych_runtime_core.state.run import RunStateView

MOST_STEPS = 2_000
# Three results, the next turn's opening with its messages, and room.
MOST_IN_A_COMMIT = 40
Flight = CallModel | RunTool


class Died(Exception):
    """The Worker is gone, with all that it did not commit."""


def is_flight(effect: Effect) -> TypeGuard[Flight]:
    return isinstance(effect, CallModel | RunTool)


def is_begin(effect: Effect) -> TypeGuard[RunTool]:
    return isinstance(effect, RunTool) and effect.mode == "begin"


@dataclass
class Pump:
    """One Run from its admission to its end, in a world that says who acts when and where the Worker dies.

    `tail` is staged and not committed; `observed` came out of the world and is kept whatever else is
    written first; `flight` is under way. `commits` are the types of the records of each commit.
    """

    world: World
    log: list[Record] = field(default_factory=lambda: [*LogBuilder().admitted().records])
    now: datetime = START + timedelta(seconds=1)
    deaths: int = 24
    tail: list[Record] = field(init=False)
    observed: list[Record] = field(init=False)
    flight: list[Flight] = field(init=False)
    commits: list[list[str]] = field(default_factory=list[list[str]])

    def __post_init__(self) -> None:
        self.tape, self.plan, self.steps = self.world.tape, self.world.plan, 0
        self._fold()

    def run(self) -> RunStateView:
        """Attempt after Attempt, until the Run is settled."""
        while not self.is_settled:
            with suppress(Died):
                self.take_up()
                while not self.is_settled:
                    self.step()
        return self.state

    @property
    def is_settled(self) -> bool:
        return self.log[-1].type == "run_settled"

    def take_up(self) -> None:
        """A new Worker folds the log; its `attempt_started` is written with whatever comes first."""
        self._fold()
        self._stage(Proposer(self.state).attempt().made[0])

    def step(self) -> None:
        """Decide and commit, start what is new, and see one thing end."""
        self.steps += 1
        assert self.steps < MOST_STEPS, "the Run does not end"
        effects = self.commit()
        wanted = [effect for effect in effects if is_flight(effect)]
        self._cut_short([effect for effect in self.flight if effect not in wanted])
        for effect in wanted:
            if effect not in self.flight:
                self._start(effect)
        if effects and not self.observed:
            self._await_something(effects)

    def commit(self) -> tuple[Effect, ...]:
        """Write what was observed and what follows from it. A person who wrote first makes us decide anew."""
        effects = self._decide()
        while self.world.is_first():
            self._let_a_person_write()
            effects = self._decide()
        self._may_die()
        types = [record.type for record in self.tail]
        if types not in ([], ["attempt_started"]):
            assert len(self.tail) <= MOST_IN_A_COMMIT
            self.commits.append([*types])
            self.log += self.tail
            self.tail, self.observed = [], []
            keep(self.state)
        self.now += timedelta(seconds=1)
        self._may_die()
        return effects

    # --- deciding ----------------------------------------------------------------------------------------

    def _decide(self) -> tuple[Effect, ...]:
        """Stage what was observed, what the engine appends, and what each `begin` brings at once."""
        for record in self.observed:
            if check(self.state, self._stamped(record)) is None:
                self._stage(record)
        slow: list[Effect] = list(filter(is_begin, self.flight))
        while True:
            effects = next_effects({HASH: self.plan}, self.state, self.now)
            self._check_answer(effects)
            decided = [*records_of(effects)]
            for record in decided:
                self._stage(record)
            if self.state.settled is not None:
                return ()
            begin = next((one for one in effects if is_begin(one) and one not in slow), None)
            if not decided and begin is None:
                return effects
            if begin is not None and self.world.is_slow(begin):
                slow.append(begin)
            elif begin is not None:
                self._stage(self.world.begin(self.state, begin, self.now))

    def _let_a_person_write(self) -> None:
        """Our tail is taken back; of it the beginning of the Attempt alone is staged again."""
        tail, self.tail = self.tail, []
        rewind(self.state)
        record = self.world.person(self.state)
        if check(self.state, record) is None:
            apply(self.state, record)
            self.log.append(record)
        if tail and tail[0].type == "attempt_started":
            self._stage(tail[0])

    def _check_answer(self, effects: tuple[Effect, ...]) -> None:
        """Appends alone, one Settle alone, or all that may be in flight and one Park."""
        kinds = [type(effect) for effect in effects]
        alone = set(kinds) == {Append} or kinds == [Settle]
        assert alone or (kinds.index(Park) == len(kinds) - 1 and not {Append, Settle} & {*kinds})
        if self.state.aborted:
            assert not {CallModel, RunTool} & {*kinds}
        elif not alone and not due_effects(self.state, self.now):
            assert self._open_intents() == sum(
                is_flight(effect) and not is_begin(effect) for effect in effects
            )

    def _open_intents(self) -> int:
        """How many model calls and tool calls this Attempt has begun; a dead one's are probed."""
        calls = [call for call in self.state.calls.values() if call.phase == "started"]
        begun = [call for call in calls if call.epoch == self.state.epoch or call.probe]
        return len(begun) + sum(lane.phase is LanePhase.CALLING for lane in self.state.open_lanes)

    # --- what is in flight -------------------------------------------------------------------------------

    def _start(self, effect: Flight) -> None:
        self.flight.append(effect)
        if isinstance(effect, RunTool) and effect.mode == "run":
            self.world.start(self.state.calls[effect.call_id])
        self._may_die()

    def _cut_short(self, effects: list[Flight]) -> None:
        """A held effect is no longer wanted: a running call says what became of it, all else is dropped."""
        for effect in effects:
            self.flight.remove(effect)
            if isinstance(effect, RunTool) and effect.mode == "run" and effect.call_id in self.state.calls:
                self.observed.append(self.world.cut_short(self.state, effect))

    def _await_something(self, effects: tuple[Effect, ...]) -> None:
        """One effect ends; with none in flight a person acts, or time passes until somebody must look."""
        if self.flight:
            self._perform(self.flight.pop(self.tape.below(len(self.flight))))
            return
        park = effects[-1]
        assert isinstance(park, Park)
        assert park.until is not None, "nobody would ever look again"
        if self.world.is_a_person_next():
            self._let_a_person_write()
        else:
            self.now = max(self.now, park.until)

    def _perform(self, effect: Flight) -> None:
        if isinstance(effect, CallModel):
            self.observed.append(self.world.answer(self.state, effect, self.now))
        elif effect.mode == "begin":
            self._stage(self.world.begin(self.state, effect, self.now))
        else:
            perform = self.world.result if effect.mode == "run" else self.world.probe
            self.observed.append(perform(self.state, effect))
        self._may_die()

    # --- how ---------------------------------------------------------------------------------------------

    def _fold(self) -> None:
        self.state = fold(self.log, run_id=self.log[0].run_id)
        self.tail, self.observed, self.flight = [], [], []
        self.epoch = self.state.epoch + 1

    def _stage(self, record: Record) -> None:
        """Whatever we write is legal: a `CorruptLog` here is a bug."""
        stamped = self._stamped(record)
        stage(self.state, stamped)
        self.tail.append(stamped)

    def _stamped(self, record: Record) -> Record:
        seq = self.state.head_seq + 1
        return stamp(record, run_id=self.state.run_id, seq=seq, at=self.now, tenant="acme", epoch=self.epoch)

    def _may_die(self) -> None:
        if self.deaths and self.tape.chance(12):
            self.deaths -= 1
            raise Died


def records_of(effects: tuple[Effect, ...]) -> Iterable[Record]:
    """What is written as it was decided."""
    for effect in effects:
        if isinstance(effect, Append):
            yield from effect.records
        elif isinstance(effect, Settle):
            yield effect.record

"""Drives a Run with a list for a log: decides, performs, commits, dies and is taken up again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from packages.core.tests.plans import HASH
from packages.core.tests.proposals import Proposer
from packages.core.tests.tape import Tape
from packages.core.tests.world import World
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.engine.effects import Append, CallModel, Effect, Park, RunTool, Settle
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.records import Record, stamp
from psych_runtime_core.state.check import check
from psych_runtime_core.state.fold import apply, fold, keep, rewind, stage
from psych_runtime_core.state.run import RunStateView

MOST_STEPS = 2_000
# A turn of three calls: their three results, the next turn's opening with its messages.
MOST_IN_A_COMMIT = 40
Flight = CallModel | RunTool


class Died(Exception):  # noqa: N818 - it is what happened to the Worker
    """The Worker is gone, with all that it did not commit."""


@dataclass
class Pump:
    """One Run from its admission to its end. The tape says who acts when, and where the Worker dies."""

    tape: Tape
    plan: Plan
    log: list[Record] = field(default_factory=lambda: [*LogBuilder().admitted().records])
    now: datetime = START + timedelta(seconds=1)
    deaths: int = 24

    def __post_init__(self) -> None:
        self.world = World(self.tape, self.plan)
        self.state = fold(self.log, run_id=self.log[0].run_id)
        self.tail: list[Record] = []
        self.observed: list[Record] = []
        self.flight: list[Flight] = []
        self.steps = 0

    def run(self) -> RunStateView:
        """Attempt after Attempt, until the Run is settled."""
        while self.log[-1].type != "run_settled":
            with suppress(Died):
                self.take_up()
                while self.log[-1].type != "run_settled":
                    self.step()
        return self.state

    def take_up(self) -> None:
        """A new Worker folds the log; its `attempt_started` is written with whatever comes first."""
        self.state = fold(self.log, run_id=self.log[0].run_id)
        self.tail, self.observed, self.flight = [], [], []
        attempt = Proposer(self.state).attempt().made[0]
        self.epoch = attempt.epoch
        self.stage(attempt)

    def step(self) -> None:
        """Decide and commit, start what is new, and see one thing end."""
        self.steps += 1
        assert self.steps < MOST_STEPS, "the Run does not end"
        effects = self.commit()
        wanted = [effect for effect in effects if isinstance(effect, CallModel | RunTool)]
        self.cut_short([effect for effect in self.flight if effect not in wanted])
        for effect in wanted:
            if effect not in self.flight:
                self.start(effect)
        if effects and not self.observed:
            self.await_something(effects)

    # --- deciding and committing -------------------------------------------------------------------------

    def commit(self) -> tuple[Effect, ...]:
        """Write what was observed and what follows from it; a foreign record before it decides anew."""
        while True:
            for record in self.observed:
                if check(self.state, self.stamped(record)) is None:
                    self.stage(record)
            effects = self.decide()
            if not self.is_foreign_record_first():
                break
        self.may_die()
        if [record.type for record in self.tail] != ["attempt_started"]:
            assert len(self.tail) <= MOST_IN_A_COMMIT
            self.log += self.tail
            keep(self.state)
            self.tail, self.observed = [], []
        self.now += timedelta(seconds=1)
        self.may_die()
        return effects

    def decide(self) -> tuple[Effect, ...]:
        """Stage what the engine appends, and what each `begin` brings that waits for nobody."""
        slow: list[Effect] = [effect for effect in self.flight if self.is_begin(effect)]
        while True:
            effects = next_effects({HASH: self.plan}, self.state, self.now)
            self.check_answer(effects)
            decided = [record for effect in effects for record in self.records_of(effect)]
            for record in decided:
                self.stage(record)
            if any(isinstance(effect, Settle) for effect in effects):
                return ()
            begins = [effect for effect in effects if self.is_begin(effect) and effect not in slow]
            if not decided and not begins:
                return effects
            for effect in begins[:1] if not decided else []:
                if self.tape.chance(64):
                    slow.append(effect)
                else:
                    assert isinstance(effect, RunTool)
                    self.stage(self.world.begin(self.state, effect, self.now))

    def records_of(self, effect: Effect) -> tuple[Record, ...]:
        return effect.records if isinstance(effect, Append) else (effect.record,) if isinstance(effect, Settle) else ()

    def is_begin(self, effect: Effect) -> bool:
        return isinstance(effect, RunTool) and effect.mode == "begin"

    def is_foreign_record_first(self) -> bool:
        """Whether somebody wrote before us: then our tail is taken back, and what was decided is asked anew."""
        if not self.tape.chance(40):
            return False
        self.foreign_record()
        return True

    def foreign_record(self) -> None:
        """A person writes; of our tail the beginning of the Attempt alone is staged again."""
        tail, self.tail = self.tail, []
        rewind(self.state)
        record = self.world.person(self.state)
        if check(self.state, record) is None:
            apply(self.state, record)
            self.log.append(record)
        if tail and tail[0].type == "attempt_started":
            self.stage(tail[0])

    def stage(self, record: Record) -> None:
        """Every record that we write is legal: a `CorruptLog` here is a bug."""
        stamped = self.stamped(record)
        stage(self.state, stamped)
        self.tail.append(stamped)

    def stamped(self, record: Record) -> Record:
        seq = self.state.head_seq + 1
        return stamp(record, run_id=self.state.run_id, seq=seq, at=self.now, tenant="acme", epoch=self.epoch)

    def check_answer(self, effects: tuple[Effect, ...]) -> None:
        """Appends alone, one Settle alone, or everything in flight and one Park; nothing begins once stopped."""
        kinds = [type(effect) for effect in effects]
        alone = set(kinds) == {Append} or kinds == [Settle]
        assert alone or (kinds[-1] is Park and kinds.count(Park) == 1 and not {Append, Settle} & {*kinds})
        if self.state.aborted:
            assert not {CallModel, RunTool} & {*kinds}

    # --- what is in flight -------------------------------------------------------------------------------

    def start(self, effect: Flight) -> None:
        self.flight.append(effect)
        if isinstance(effect, RunTool) and effect.mode == "run":
            self.world.start(self.state.calls[effect.call_id])
        self.may_die()

    def cut_short(self, effects: list[Flight]) -> None:
        """A held effect is no longer wanted: a running call says what became of it, all else is dropped."""
        for effect in effects:
            self.flight.remove(effect)
            if isinstance(effect, RunTool) and effect.mode == "run" and effect.call_id in self.state.calls:
                self.observed.append(self.world.cut_short(self.state, effect))

    def await_something(self, effects: tuple[Effect, ...]) -> None:
        """One effect ends; with none in flight, time passes until the engine wants to be asked."""
        if self.flight:
            effect = self.flight.pop(self.tape.below(len(self.flight)))
            record = self.performed(effect)
            if self.is_begin(effect):
                self.stage(record)
            else:
                self.observed.append(record)
            self.may_die()
            return
        park = effects[-1]
        assert isinstance(park, Park)
        assert park.until is not None, "nobody would ever look again"
        if self.tape.below(4) == 0:
            self.now = max(self.now, park.until)
        else:
            self.foreign_record()

    def performed(self, effect: Flight) -> Record:
        if isinstance(effect, CallModel):
            return self.world.answer(self.state, effect, self.now)
        if effect.mode == "begin":
            return self.world.begin(self.state, effect, self.now)
        perform = self.world.result if effect.mode == "run" else self.world.probe
        return perform(self.state, effect)

    def may_die(self) -> None:
        if self.deaths and self.tape.chance(12):
            self.deaths -= 1
            raise Died

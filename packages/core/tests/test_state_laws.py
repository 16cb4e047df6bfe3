"""A state is the same however its log was folded, and says the same of what may come next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings

from packages.core.tests.codecs import SealingCodec
from packages.core.tests.proposals import proposal
from packages.core.tests.tape import Tape, tapes
from psych_runtime_core.errors import CorruptLog
from psych_runtime_core.ids import RunId
from psych_runtime_core.records import GENESIS, Entry, Record, decode, encode, verify
from psych_runtime_core.records.record import RECORD_CLASSES
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.check import check
from psych_runtime_core.state.fold import apply, empty, fold, keep, rewind, stage
from psych_runtime_core.state.lane import LanePhase
from psych_runtime_core.state.legal import LANE_TABLE, RUN_TABLE, group_of
from psych_runtime_core.state.run import RunStateView

RUN = RunId("run_test")
ACME = Scope(tenant="acme")
Cell = tuple[str, str, bool]


@dataclass
class Walk:
    """A state as a Worker carries it, and the records that made it; `tail` are not committed."""

    state: RunStateView = field(default_factory=lambda: empty(RUN))
    kept: list[Record] = field(default_factory=list[Record])
    tail: list[Record] = field(default_factory=list[Record])
    met: set[Cell] = field(default_factory=set[Cell])

    @property
    def records(self) -> list[Record]:
        return [*self.kept, *self.tail]

    def propose(self, record: Record) -> None:
        """Take the record in if it may follow; else see it refused, and nothing changed."""
        self._note(record)
        if check(self.state, record) is None:
            stage(self.state, record)
            self.tail.append(record)
            return
        before = self.state.dump()
        with pytest.raises(CorruptLog):
            stage(self.state, record)
        assert self.state.dump() == before

    def keep(self) -> None:
        keep(self.state)
        self.kept, self.tail = self.records, []

    def rewind(self) -> None:
        rewind(self.state)
        self.tail = []

    def _note(self, record: Record) -> None:
        legal = check(self.state, record) is None
        self.met.add((group_of(record).name, self.state.phase.value, legal))
        lane = self.state.lanes.get("")
        if lane is not None and record.type in LANE_TABLE:
            self.met.add((record.type, lane.phase.value, legal))


def walked(tape: Tape, steps: int = 30) -> Walk:
    walk = Walk()
    for _ in range(steps):
        walk.propose(proposal(tape, walk.state))
        fate = tape.below(10)
        if fate == 9:
            walk.rewind()
        elif fate > 5:
            walk.keep()
    return walk


def next_verdicts(state: RunStateView, following: Sequence[Record]) -> list[object]:
    return [check(state, record) for record in following]


def reachable() -> set[Cell]:
    """Every cell of both tables, with each verdict that it leaves open."""
    runs = {
        (group.name, phase.value, legal)
        for group, row in RUN_TABLE.items()
        for phase, reason in row.items()
        for legal in ((True, False) if reason is None else (False,))
    }
    lanes = {
        (name, phase.value, legal)
        for name, phases in LANE_TABLE.items()
        for phase in LanePhase
        for legal in ((True, False) if phase in phases else (False,))
    }
    return runs | lanes


def test_a_state_folded_whole_in_parts_or_live_is_the_same_state() -> None:
    met: set[Cell] = set()

    @given(tapes(240))
    @settings(max_examples=800)
    def walks(tape: Tape) -> None:
        walk = walked(tape)
        met.update(walk.met)
        records = walk.records
        whole = fold(records, run_id=RUN)
        following = [proposal(tape, walk.state) for _ in range(5)]
        verdicts = next_verdicts(walk.state, following)
        assert whole == walk.state
        assert next_verdicts(whole, following) == verdicts
        split = tape.below(len(records) + 1)
        parts = fold(records[split:], run_id=RUN, state=fold(records[:split], run_id=RUN))
        assert parts == whole
        assert next_verdicts(parts, following) == verdicts

    walks()
    assert reachable() - met == set()


def test_a_staged_record_of_any_type_leaves_no_trace_when_it_is_rewound() -> None:
    seen: set[str] = set()

    @given(tapes(240))
    @settings(max_examples=200)
    def walks(tape: Tape) -> None:
        walk = walked(tape, tape.below(30))
        walk.keep()
        before = walk.state.dump()
        tail = [proposal(tape, walk.state) for _ in range(20)]
        for record in tail:
            if check(walk.state, record) is None:
                stage(walk.state, record)
                seen.add(record.type)
                rewind(walk.state)
                assert walk.state.dump() == before

    walks()
    assert seen == set(RECORD_CLASSES)


@given(tapes(240))
def test_a_legal_log_is_as_legal_when_its_content_is_erased(tape: Tape) -> None:
    walk, codec, head = walked(tape), SealingCodec(), GENESIS
    entries: list[Entry] = []
    for record in walk.records:
        entries.append(encode(record, after=head, scope=ACME, codec=codec))
        head = entries[-1].head
    codec.destroy(ACME.tenant)
    erased = fold((decode(entry, run_id=RUN, scope=ACME, codec=codec) for entry in entries), run_id=RUN)
    assert (erased.phase, erased.meter) == (walk.state.phase, walk.state.meter)
    assert {name: lane.phase for name, lane in erased.lanes.items()} == {
        name: lane.phase for name, lane in walk.state.lanes.items()
    }
    assert erased.waits.keys() == walk.state.waits.keys()
    assert verify(entries, run_id=RUN) == head


@given(tapes(240))
@settings(max_examples=300)
def test_what_a_lane_counts_is_what_its_tables_hold(tape: Tape) -> None:
    state = walked(tape).state
    for lane in state.open_lanes:
        calls = state.calls_of(lane.lane)
        open_waits = [wait for wait in state.open_waits if wait.lane == lane.lane]
        assert (lane.unfinished, lane.held) == (len(calls), len(open_waits))
        assert (lane.phase is LanePhase.ACTING) == bool(calls)
        assert (lane.phase is LanePhase.ANSWERED) == (lane.answer is not None)
    holding = {call.wait_id: call.call_id for call in state.calls.values() if call.wait_id is not None}
    assert holding == {wait.wait_id: wait.call_id for wait in state.waits.values()}
    assert (state.parked_since is not None) == state.parked


@given(tapes(240))
def test_a_whole_tail_is_rewound_at_once(tape: Tape) -> None:
    walk = walked(tape)
    walk.keep()
    before = walk.state.dump()
    for _ in range(10):
        walk.propose(proposal(tape, walk.state))
    walk.rewind()
    assert walk.state.dump() == before
    assert walk.state == fold(walk.records, run_id=RUN)


@given(tapes(240))
def test_what_is_applied_after_a_refused_stage_stands(tape: Tape) -> None:
    walk = walked(tape)
    walk.keep()
    record = proposal(tape, walk.state)
    if check(walk.state, record) is not None:
        with pytest.raises(CorruptLog):
            stage(walk.state, record)
    following = proposal(tape, walk.state)
    if check(walk.state, following) is None:
        apply(walk.state, following)
        rewind(walk.state)
        assert walk.state.head_seq == following.seq

"""A record costs the same at the end of a long log as at its beginning, and leaves as little behind."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.core.tests.logs import acting, calls_of, ready, stopping, waiting
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.records import decode
from psych_runtime_core.records.facts import SuspendReason
from psych_runtime_core.state.fold import apply, empty, facts_of, fold, rewind, stage
from psych_runtime_core.state.run import RunStateView


def long_log(cycles: int) -> LogBuilder:
    """Equal turns: a message, a failed try, an approved call, a refused one."""
    log = ready()
    for n in range(cycles):
        log.enqueued(f"message {n}").turn().consumed().model_started().model_failed().model_started()
        log.model_finished(calls=[("pay", {"n": n}), ("look", {"n": -n})])
        log.suspended(0).resumed(0).tool_started(0).tool_finished(0, n).refused(1)
    return log


CYCLE = 12
TABLES = ("lanes", "calls", "waits", "queue", "entry_ids", "remembered", "prompts", "toolsets")
LOG = long_log(10_100 // CYCLE)


def writes_per_record(first: int, staged: bool = False) -> list[tuple[str, int]]:
    """The table writes of one cycle of records from seq `first` on."""
    state = empty(LOG.run_id)
    records = iter(LOG.records)
    for record in islice(records, first - 1):
        apply(state, record)
    counted: list[tuple[str, int]] = []
    for record in islice(records, CYCLE):
        before = state.undo.writes
        (stage if staged else apply)(state, record)
        counted.append((record.type, state.undo.writes - before))
    return counted


def test_a_record_writes_as_often_at_10_000_as_at_100() -> None:
    # Both begin at the same place in a cycle: two records open the log.
    early, late = 2 + 8 * CYCLE + 1, 2 + 833 * CYCLE + 1
    assert late >= 9_999
    assert writes_per_record(late) == writes_per_record(early)
    assert writes_per_record(late, staged=True) == writes_per_record(early)


def test_a_state_does_not_grow_with_finished_work() -> None:
    def sizes(records: int) -> dict[str, int]:
        dump: dict[str, Any] = fold(LOG.records[:records], run_id=LOG.run_id).dump()
        return {name: len(dump[name]) for name in TABLES}

    early, late = sizes(2 + 10 * CYCLE), sizes(2 + 800 * CYCLE)
    # Every id of a message is kept, so that a repeated one is known.
    assert (early.pop("entry_ids"), late.pop("entry_ids")) == (10, 800)
    assert early == late


def test_a_rewind_costs_what_its_tail_wrote() -> None:
    state = fold(LOG.records[:9_000], run_id=LOG.run_id)
    before, dump = state.undo.writes, state.dump()
    for record in LOG.records[9_000:9_020]:
        stage(state, record)
    staged = state.undo.writes - before
    rewind(state)
    assert state.undo.writes - before == staged < 150
    assert state.dump() == dump


# --- the header's facts ----------------------------------------------------------------------------------


def test_the_header_says_what_the_log_does() -> None:
    facts = facts_of(waiting(calls_of("pay", "look")).suspended(1).enqueued().state())
    assert facts.waits == ((SuspendReason.APPROVAL, 6), (SuspendReason.APPROVAL, 7))
    assert (facts.pending, facts.parked, facts.stopping, facts.attempt_count) == (1, True, False, 1)
    assert (facts.version_hash, facts.deadline_at) == ("sha256:test", None)
    assert facts_of(stopping().state()).stopping


def test_a_header_lists_the_oldest_waits_of_very_many() -> None:
    log = acting(calls_of(*["pay"] * 70))
    for n in range(70):
        log.suspended(n)
    assert [seq for _, seq in facts_of(log.state()).waits] == list(range(6, 70))


# --- sealed and erased logs ------------------------------------------------------------------------------


def read(log: LogBuilder, codec: SealingCodec) -> RunStateView:
    entries = log.entries(codec)
    return fold(
        (decode(entry, run_id=log.run_id, scope=log.scope, codec=codec) for entry in entries),
        run_id=log.run_id,
    )


def test_a_sealed_log_folds_to_the_state_of_the_plain_one() -> None:
    log = long_log(3)
    assert read(log, SealingCodec()) == log.state()


class Erased(SealingCodec):
    """Its key is destroyed before anything is read."""

    def __init__(self) -> None:
        super().__init__()
        self.destroy("acme")


@pytest.mark.parametrize(
    "log",
    [
        long_log(3),
        waiting().resumed(arguments={"n": 9}, arguments_digest="9" * 64).tool_started(),
        waiting(calls_of("a", "b")).suspended(1),
        LogBuilder().admitted({"secret": "s"}).attempt().abort("secret").settled("aborted"),
    ],
    ids=["turns", "edited", "waiting", "settled"],
)
def test_an_erased_log_folds_to_the_phases_counts_and_evidence_of_the_plain_one(log: LogBuilder) -> None:
    plain, erased = log.state(), read(log, Erased())
    assert erased.erased
    assert (erased.phase, erased.parked, erased.parked_seconds) == (
        plain.phase,
        plain.parked,
        plain.parked_seconds,
    )
    assert erased.meter == plain.meter
    assert [lane.phase for lane in erased.open_lanes] == [lane.phase for lane in plain.open_lanes]
    assert [lane.repeats for lane in erased.open_lanes] == [lane.repeats for lane in plain.open_lanes]
    assert {call.call_id: call.arguments_digest for call in erased.calls.values()} == {
        call.call_id: call.arguments_digest for call in plain.calls.values()
    }
    assert facts_of(erased) == facts_of(plain)

"""Each reason by a smallest log that gives exactly it, beside the nearest log that is legal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given

from packages.core.tests.logs import (
    acting,
    answered,
    asking,
    calling,
    calls_of,
    failed,
    ready,
    started,
    waiting,
)
from packages.core.tests.proposals import proposal
from packages.core.tests.tape import Tape, tapes
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.errors import CorruptionReason as Reason
from psych_runtime_core.errors import CorruptLog
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import AnnouncedCall
from psych_runtime_core.state.check import check
from psych_runtime_core.state.fold import empty, fold, stage

TWO = calls_of("pay", "look")
D9 = "9" * 64


@dataclass
class Pair:
    """A log whose last record breaks one rule, and the nearest one that breaks none."""

    reason: Reason
    bad: LogBuilder
    good: LogBuilder


def pair(reason: Reason, bad: LogBuilder, good: LogBuilder) -> Pair:
    return Pair(reason, bad, good)


def bad(log: LogBuilder) -> LogBuilder:
    return log.unchecked()


APPROVED: dict[str, Any] = {"arguments_digest": D9, "arguments": {"n": 9}}
MINE = AnnouncedCall(call_id=ToolCallId("call_mine"), name="pay", arguments_digest=D9)

PAIRS = {
    "another Run": pair(Reason.WRONG_LOG, bad(ready()).turn(run_id="run_x"), ready().turn()),
    "another tenant": pair(Reason.WRONG_LOG, bad(ready()).turn(tenant="x"), ready().turn()),
    "a gap": pair(Reason.WRONG_LOG, bad(ready()).turn(seq=4), ready().turn(seq=3)),
    "a repeat": pair(Reason.WRONG_LOG, bad(ready()).turn(seq=2), ready().turn(seq=3)),
    "begun before admission": pair(
        Reason.NOT_ADMITTED, bad(LogBuilder()).enqueued(), LogBuilder().admitted()
    ),
    "admitted twice": pair(Reason.ADMITTED_TWICE, bad(ready()).admitted(), ready().attempt()),
    "after the end": pair(Reason.RECORD_AFTER_FINISH, bad(answered().settled()).abort(), answered().abort()),
    "begun after an abort": pair(Reason.AFTER_ABORT, bad(ready().abort()).turn(), ready().abort().attempt()),
    "an answer after an abort": pair(
        Reason.AFTER_ABORT, bad(waiting().abort()).resumed(), waiting().resumed().abort()
    ),
    "done after an abort": pair(
        Reason.AFTER_ABORT, bad(answered().abort()).settled(), answered().abort().settled("aborted")
    ),
    "a dead Attempt writes": pair(
        Reason.STALE_EPOCH, bad(asking().attempt()).model_started(epoch=1), asking()
    ),
    "no Attempt yet": pair(Reason.STALE_EPOCH, bad(LogBuilder().admitted()).turn(epoch=0), ready().turn()),
    "an epoch that does not rise": pair(
        Reason.STALE_EPOCH, bad(ready()).attempt(epoch=1), ready().attempt(epoch=2)
    ),
    "a Worker admits": pair(Reason.STALE_EPOCH, bad(LogBuilder()).admitted(epoch=1), LogBuilder().admitted()),
    "a Worker aborts": pair(Reason.STALE_EPOCH, bad(ready()).abort(epoch=1), ready().abort(epoch=0)),
    "a dead Attempt sends": pair(
        Reason.STALE_EPOCH, bad(ready().attempt()).enqueued(epoch=1), ready().attempt().enqueued(epoch=2)
    ),
    "an Attempt is skipped": pair(
        Reason.WRONG_ATTEMPT, bad(ready()).attempt(attempt_number=3), ready().attempt(attempt_number=2)
    ),
    "an unknown lane": pair(Reason.LANE_NOT_OPEN, bad(ready()).turn(lane="stp_1"), ready().turn()),
    "a Run's record in a lane": pair(Reason.LANE_NOT_OPEN, bad(ready()).abort(lane="x"), ready().abort()),
    "an answer in another lane": pair(
        Reason.LANE_NOT_OPEN, bad(waiting()).resumed(lane="x"), waiting().resumed()
    ),
    "a turn inside a turn": pair(Reason.WRONG_PHASE, bad(asking()).turn(), answered().turn()),
    "a second call of the model": pair(
        Reason.WRONG_PHASE, bad(calling()).model_started(), calling().attempt().model_started()
    ),
    "a failed lane goes on": pair(
        Reason.WRONG_PHASE, bad(failed()).model_started(), failed().settled("failed")
    ),
    "a turn is skipped": pair(Reason.WRONG_NUMBER, bad(ready()).turn(turn=2), ready().turn(turn=1)),
    "a try is skipped": pair(
        Reason.WRONG_NUMBER, bad(asking()).model_started(try_number=2), asking().model_started(try_number=1)
    ),
    "a try of another turn": pair(
        Reason.WRONG_NUMBER, bad(asking()).model_started(turn=2), asking().model_started()
    ),
    "an answer to another try": pair(
        Reason.WRONG_NUMBER, bad(calling()).model_finished(try_number=2), calling().model_finished()
    ),
    "an answer of another turn": pair(
        Reason.WRONG_NUMBER, bad(calling()).model_finished(turn=2), calling().model_finished()
    ),
    "a failure of another try": pair(
        Reason.WRONG_NUMBER, bad(calling()).model_failed(try_number=2), calling().model_failed()
    ),
    "a message of another turn": pair(
        Reason.WRONG_NUMBER, bad(asking().enqueued()).consumed(turn=2), asking().enqueued().consumed()
    ),
    "a start of another turn": pair(Reason.WRONG_NUMBER, bad(acting()).tool_started(turn=2), started()),
    "a run is skipped": pair(Reason.WRONG_NUMBER, bad(acting()).tool_started(run_number=2), started()),
    "a result of another turn": pair(
        Reason.WRONG_NUMBER, bad(started()).tool_finished(turn=2), started().tool_finished()
    ),
    "a call id of somebody's own": pair(Reason.WRONG_ID, acting().edit(5, calls=(MINE,)), acting()),
    "a Wait id of somebody's own": pair(
        Reason.WRONG_ID, bad(acting()).suspended(wait_id="wait_mine"), acting().suspended()
    ),
    "a start of an unknown call": pair(
        Reason.CALL_NOT_OPEN, bad(acting()).tool_started("call_x"), acting().tool_started(0)
    ),
    "a second result": pair(
        Reason.CALL_NOT_OPEN, bad(acting(TWO).refused(0)).refused(0), acting(TWO).refused(0).refused(1)
    ),
    "a second start": pair(
        Reason.CALL_STARTED_TWICE, bad(started(safe_to_retry=True)).tool_started(), started()
    ),
    "an unsafe call again": pair(
        Reason.CALL_STARTED_TWICE,
        bad(started().attempt()).tool_started(),
        started(safe_to_retry=True).attempt().tool_started(),
    ),
    "a call with a probe again": pair(
        Reason.CALL_STARTED_TWICE,
        bad(started(probe=True)).tool_started(),
        started(probe=True).attempt().tool_started(),
    ),
    "an open approval": pair(
        Reason.CALL_NOT_ADMITTED, bad(waiting()).tool_started(), waiting().resumed().tool_started()
    ),
    "a denied call": pair(
        Reason.CALL_NOT_ADMITTED,
        bad(waiting().resumed(approved=False)).tool_started(),
        waiting().resumed(approved=False).refused(kind="denied"),
    ),
    "other arguments than approved": pair(
        Reason.CALL_NOT_ADMITTED,
        bad(waiting().resumed()).tool_started(arguments_digest=D9),
        waiting().resumed(**APPROVED).tool_started(arguments_digest=D9),
    ),
    "an approved call on no Wait": pair(
        Reason.CALL_NOT_ADMITTED, bad(waiting().resumed()).tool_started(wait_id=None), waiting().resumed()
    ),
    "an approved call again, on no Wait": pair(
        Reason.CALL_NOT_ADMITTED,
        bad(waiting().resumed().tool_started(safe_to_retry=True).attempt()).tool_started(wait_id=None),
        waiting().resumed().tool_started(safe_to_retry=True).attempt().tool_started(),
    ),
    "ok of a call not begun": pair(
        Reason.IMPOSSIBLE_OUTCOME, bad(acting()).tool_finished(), acting().refused()
    ),
    "error of a call not begun": pair(
        Reason.IMPOSSIBLE_OUTCOME, bad(acting()).tool_finished(outcome="error"), acting().refused()
    ),
    "unknown of a call not begun": pair(
        Reason.IMPOSSIBLE_OUTCOME,
        bad(acting()).tool_finished(outcome="unknown"),
        acting().tool_finished(outcome="aborted"),
    ),
    "a started call is refused": pair(
        Reason.IMPOSSIBLE_OUTCOME, bad(started()).refused(), started().tool_finished(outcome="unknown")
    ),
    "the end over an open call": pair(
        Reason.OPEN_WORK, bad(started().abort()).settled("aborted"), calling().abort().settled("aborted")
    ),
    "a Wait of no call": pair(
        Reason.WAIT_OWNER_MISMATCH, bad(acting()).suspended("call_x"), acting().suspended()
    ),
    "a Wait of a started call": pair(Reason.WAIT_OWNER_MISMATCH, bad(started()).suspended(), waiting()),
    "a second Wait": pair(Reason.WAIT_OWNER_MISMATCH, bad(waiting()).suspended(), waiting(TWO).suspended(1)),
    "an answer to no Wait": pair(Reason.WAIT_NOT_OPEN, bad(acting()).resumed(), waiting().resumed()),
    "a second answer": pair(Reason.WAIT_NOT_OPEN, bad(waiting().resumed()).resumed(), waiting().resumed()),
    "neither yes nor no": pair(
        Reason.WRONG_ANSWER, bad(waiting()).resumed(approved=None), waiting().resumed(approved=False)
    ),
    "an answer to other arguments": pair(
        Reason.WRONG_ANSWER, bad(waiting()).resumed(shown_digest=D9), waiting().resumed()
    ),
    "another digest, unedited": pair(
        Reason.WRONG_ANSWER, bad(waiting()).resumed(arguments_digest=D9), waiting().resumed(**APPROVED)
    ),
    "a yes that does not say to what": pair(
        Reason.WRONG_ANSWER,
        bad(waiting()).resumed(arguments={"n": 9}, arguments_digest=None),
        waiting().resumed(**APPROVED),
    ),
    "a person lets a Wait expire": pair(
        Reason.WRONG_ANSWER,
        bad(waiting()).resumed(approved=None, cause="expired", epoch=0),
        waiting().resumed(approved=None, cause="expired"),
    ),
    "expired and decided": pair(
        Reason.WRONG_ANSWER,
        bad(waiting()).resumed(approved=False, cause="expired"),
        waiting().resumed(approved=None, cause="expired"),
    ),
    "a message that nobody sent": pair(
        Reason.QUEUE_ENTRY_NOT_PENDING, bad(asking()).consumed("qe_x"), asking().enqueued().consumed()
    ),
    "a message read twice": pair(
        Reason.QUEUE_ENTRY_NOT_PENDING,
        bad(asking().enqueued(entry_id="qe_1").consumed()).consumed("qe_1"),
        asking().enqueued(entry_id="qe_1").enqueued(entry_id="qe_2").consumed("qe_1").consumed("qe_2"),
    ),
}


@pytest.mark.parametrize("case", PAIRS.values(), ids=PAIRS)
def test_a_log_that_breaks_one_rule_is_refused_with_its_reason(case: Pair) -> None:
    records = case.bad.records
    state = fold(records[:-1], run_id=case.bad.run_id)
    before = state.dump()
    with pytest.raises(CorruptLog) as caught:
        stage(state, records[-1])
    assert (caught.value.reason, caught.value.seq) == (case.reason, records[-1].seq)
    assert caught.value.run_id == records[-1].run_id
    assert state.dump() == before


@pytest.mark.parametrize("case", PAIRS.values(), ids=PAIRS)
def test_its_nearest_legal_neighbour_folds(case: Pair) -> None:
    assert case.good.state().head_seq == len(case.good.records)


def test_each_reason_of_the_fold_has_its_log() -> None:
    of_bytes = {Reason.DIGEST_MISMATCH, Reason.ENVELOPE_MISMATCH, Reason.UNREADABLE_BODY}
    assert {case.reason for case in PAIRS.values()} == set(Reason) - of_bytes


# --- what is legal, though it looks odd --------------------------------------------------------------------


def test_a_second_abort_is_legal_and_changes_nothing() -> None:
    once = ready().abort("first", requested_by="ada")
    again = once.abort("second", requested_by="bob").state()
    assert again.abort is not None
    assert (again.abort.reason, again.abort.requested_by, again.abort.seq) == ("first", "ada", 3)


def test_a_message_with_an_id_seen_before_is_legal_and_changes_nothing() -> None:
    log = asking().enqueued("one", entry_id="qe_1").enqueued("two", entry_id="qe_1")
    assert [entry.payload for entry in log.state().pending] == [{"message": "one"}]
    assert not log.consumed("qe_1").enqueued("three", entry_id="qe_1").state().pending


@pytest.mark.parametrize("log", [ready, asking, calling, acting, started, waiting, answered, failed])
def test_what_a_crash_leaves_is_legal_and_a_new_attempt_follows(log: Callable[[], LogBuilder]) -> None:
    assert log().attempt().state().attempt_count == 2


# --- a log that somebody changed ---------------------------------------------------------------------------


def legal_log(tape: Tape) -> list[Record]:
    state = empty(LogBuilder().run_id)
    records: list[Record] = []
    for _ in range(30):
        record = proposal(tape, state)
        if check(state, record) is None:
            stage(state, record)
            records.append(record)
    return records


@given(tapes(200))
def test_a_log_with_a_record_deleted_repeated_or_moved_is_refused(tape: Tape) -> None:
    records = legal_log(tape)
    i, j = sorted((tape.below(len(records)), tape.below(len(records))))
    changed = {
        "deleted": (records[:i] + records[i + 1 :], i + 1 < len(records)),
        "repeated": ([*records[: i + 1], *records[i:]], True),
        "moved": ([*records[:i], records[j], *records[i + 1 : j], records[i], *records[j + 1 :]], i < j),
    }
    for log, is_changed in changed.values():
        if is_changed:
            with pytest.raises(CorruptLog):
                fold(log, run_id=LogBuilder().run_id)


@given(tapes(200))
def test_a_log_with_an_envelope_altered_is_refused(tape: Tape) -> None:
    records = legal_log(tape)
    place = tape.below(len(records))
    altered = {"run_id": "run_x", "seq": records[place].seq + 1, "lane": "stp_x", "epoch": 77}
    # A later Attempt may have any higher epoch.
    names = ["run_id", "seq", "lane", *(["epoch"] if records[place].type != "attempt_started" else [])]
    name = tape.one_of(names)
    records[place] = records[place].model_copy(update={name: altered[name]})
    with pytest.raises(CorruptLog):
        fold(records, run_id=LogBuilder().run_id)

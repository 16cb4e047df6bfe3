"""What a Run, its lane and its calls do next, row by row: a state in, the effects out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from packages.core.tests.logs import (
    acting,
    answered,
    asking,
    calling,
    calls_of,
    failed,
    ready,
    settled,
    started,
    turns,
    waiting,
)
from packages.core.tests.plans import plan, plans
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import MODEL, LogBuilder
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.calls import call_effects
from psych_runtime_core.engine.decide import due_effects, next_effects
from psych_runtime_core.engine.effects import Append, CallModel, Effect, Park, RunTool, Settle, ToolMode
from psych_runtime_core.engine.plan import Plans
from psych_runtime_core.engine.results import ended, failure_digest, refused
from psych_runtime_core.errors import VersionNotFound
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.facts import FailureKind, ToolFailure, ToolOutcome
from psych_runtime_core.records.queue import QueueConsumed
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.records.turn import ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed

PLANS = plans()
NOW = START + timedelta(seconds=100)
DEADLINE = START + timedelta(seconds=900)
REST = Park(DEADLINE)
TWO = calls_of("pay", "look")
LENGTH: dict[str, Any] = {"finish_reason": FinishReason.LENGTH}
FILTER: dict[str, Any] = {"finish_reason": FinishReason.CONTENT_FILTER}
PAUSE: dict[str, Any] = {"finish_reason": FinishReason.PAUSE}
SAID_NO: dict[str, Any] = {"finish_reason": FinishReason.REFUSAL}
EXPIRED: dict[str, Any] = {"approved": None, "cause": "expired"}


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def does(log: LogBuilder, given: Plans = PLANS, now: datetime = NOW) -> tuple[Effect, ...]:
    return next_effects(given, log.state(), now)


def opens(turn: int, *entries: str) -> tuple[Append]:
    read = (QueueConsumed(entry_id=entry, turn=turn) for entry in entries)
    return (Append((TurnStarted(turn=turn), *read, asked(turn, 1))),)


def asked(turn: int, try_number: int, model: str = MODEL) -> ModelCallStarted:
    return ModelCallStarted(turn=turn, try_number=try_number, model=model)


def asks(turn: int, try_number: int, model: str = MODEL) -> tuple[Append]:
    return (Append((asked(turn, try_number, model),)),)


def fails(kind: FailureKind | str, text: str) -> tuple[Settle]:
    return (
        Settle(RunSettled.model_validate({"state": "failed", "failure": {"kind": kind, "message": text}})),
    )


def runs(log: LogBuilder, *modes: ToolMode) -> tuple[Effect, ...]:
    """A mode for each unfinished call, in call order, then rest."""
    calls = log.state().calls_of("")
    return (*(RunTool("", call.call_id, mode) for call, mode in zip(calls, modes, strict=True)), REST)


def done(answer_seq: int, **output: object) -> tuple[Settle]:
    record: dict[str, object] = {"state": "completed", "output": output, "answer_seq": answer_seq}
    return (Settle(RunSettled.model_validate(record)),)


# --- the Run (R) -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("log", [LogBuilder(), settled()], ids=["not admitted", "settled"])
def test_a_run_that_has_not_begun_or_has_ended_does_nothing(log: LogBuilder) -> None:
    assert does(log) == ()
    assert due_effects(log.state(), NOW) == ()


def test_each_wait_that_is_due_expires_at_once() -> None:
    log = acting(TWO).suspended(0, due_at=NOW).suspended(1, due_at=NOW)
    waits = (Resumed(wait_id=wait.wait_id, cause="expired") for wait in log.state().open_waits)
    assert does(log) == due_effects(log.state(), NOW) == (Append(tuple(waits)),)


def test_a_wait_that_is_not_due_is_looked_at_when_it_is() -> None:
    log = acting().suspended(due_at=after(101))
    assert does(log) == (Park(after(101)),)
    assert due_effects(log.state(), NOW) == ()


SCHEMA = {"type": "object", "required": ["order"]}


def test_an_input_that_does_not_fit_ends_the_run_before_anything_began() -> None:
    effects = does(ready(), plans(input_schema=SCHEMA))
    assert len(effects) == 1
    assert isinstance(effects[0], Settle)
    failure = effects[0].record.failure
    assert failure is not None
    assert failure.kind == "schema_violation"
    assert "order" in failure.message


def test_an_input_is_judged_before_the_first_turn_only() -> None:
    assert does(LogBuilder().admitted({"order": 1}).attempt(), plans(input_schema=SCHEMA)) == opens(1)
    assert does(asking(), plans(input_schema=SCHEMA)) == asks(1, 1)


def test_what_needs_the_version_says_when_it_is_not_there() -> None:
    with pytest.raises(VersionNotFound):
        next_effects({}, ready().state(), NOW)
    assert next_effects({}, acting().suspended(due_at=NOW).state(), NOW)
    assert next_effects({}, ready().abort().state(), NOW)
    assert next_effects({}, ready().state(), DEADLINE)
    assert due_effects(ready().state(), NOW) == ()


UNTIL = {
    "the deadline": (calling(), DEADLINE),
    "a retry before it": (calling().model_failed(retry_at=after(200)), after(200)),
    "a Wait before it": (acting(TWO).suspended(0, due_at=after(300)), after(300)),
    "the first of several Waits": (
        acting(TWO).suspended(0, due_at=after(400)).suspended(1, due_at=after(300)),
        after(300),
    ),
    "a Wait alone, while all wait": (acting().suspended(due_at=after(5_000)), after(5_000)),
    "the deadline, moved by the waiting": (
        waiting().at(55).resumed(),
        after(950),
    ),
}


@pytest.mark.parametrize(("log", "until"), UNTIL.values(), ids=UNTIL)
def test_a_run_rests_until_the_first_moment_that_can_change_something(
    log: LogBuilder, until: datetime
) -> None:
    assert does(log)[-1] == Park(until)


# --- an agent's lane (L) ---------------------------------------------------------------------------------

LANES: dict[str, tuple[LogBuilder, tuple[Effect, ...]]] = {
    "a call of this Attempt is in flight": (calling(), (CallModel("", 1, 1, MODEL), REST)),
    "a call of a dead Attempt is made again": (calling().attempt(), asks(1, 2)),
    "made again with the model that was asked": (
        calling().model_failed(next_model="b").model_started().attempt(),
        asks(1, 3, "b"),
    ),
    "a lane that failed ends the Run": (failed(), fails("auth", "no answer")),
    "a retry is waited for": (calling().model_failed(retry_at=after(200)), (Park(after(200)),)),
    "a retry that is due is made": (calling().model_failed(retry_at=NOW, next_model="b"), asks(1, 2, "b")),
    "a retry at once": (calling().model_failed(next_model="b"), asks(1, 2, "b")),
    "an open turn asks the model": (asking(), asks(1, 1)),
    "the first turn opens": (ready(), opens(1)),
    "the first turn reads what was steered": (ready().enqueued(entry_id="qe_1"), opens(1, "qe_1")),
    "a turn leaves what follows up": (ready().enqueued(queue="follow_up"), opens(1)),
    "the next turn opens": (turns(ready(), ["ok"]), opens(2)),
    "the next turn reads in order": (
        turns(ready(), ["ok"]).enqueued(entry_id="qe_b").enqueued(entry_id="qe_a"),
        opens(2, "qe_b", "qe_a"),
    ),
    "six failures of a tool end the lane": (
        turns(ready(), ["error"] * 6),
        fails("failure_streak", wording.lane_failure_streak(6)),
    ),
    "five do not": (turns(ready(), ["error"] * 5), opens(6)),
    "the peak is of the last turn": (turns(turns(ready(), ["error"] * 6), ["ok"], "look"), opens(8)),
    "a filtered answer with calls ends the lane": (
        acting().edit(5, **FILTER).refused(),
        fails("content_filter", wording.output_filtered()),
    ),
    "one cut answer with calls does not": (acting().edit(5, **LENGTH).refused(), opens(2)),
    "an answer is the end": (answered("done"), done(5, text="done")),
    "a cut answer fails": (
        calling().model_finished("do", **LENGTH),
        fails("output_truncated", wording.output_truncated()),
    ),
    "a cut answer fails whatever is pending": (
        calling().model_finished("do", **LENGTH).enqueued(),
        fails("output_truncated", wording.output_truncated()),
    ),
    "a filtered answer fails": (
        calling().model_finished("do", **FILTER),
        fails("content_filter", wording.output_filtered()),
    ),
    "a pause goes on": (calling().model_finished("hm", **PAUSE), opens(2)),
    "a pause goes on with what was steered, and leaves what follows up": (
        calling().model_finished("hm", **PAUSE).enqueued(entry_id="qe_1").enqueued(queue="follow_up"),
        opens(2, "qe_1"),
    ),
    "a steer is answered first": (answered().enqueued(entry_id="qe_1"), opens(2, "qe_1")),
    "a follow-up as well": (answered().enqueued(queue="follow_up", entry_id="qe_1"), opens(2, "qe_1")),
    "both in the order they came": (
        answered().enqueued(queue="follow_up", entry_id="qe_b").enqueued(entry_id="qe_a"),
        opens(2, "qe_b", "qe_a"),
    ),
    "a refusal is an answer that says so": (
        calling().model_finished("no", **SAID_NO),
        done(5, text="no", refused=True),
    ),
    "a refusal with a message pending goes on": (
        calling().model_finished("no", **SAID_NO).enqueued(entry_id="qe_1"),
        opens(2, "qe_1"),
    ),
}


@pytest.mark.parametrize(("log", "effects"), LANES.values(), ids=LANES)
def test_a_lane_does(log: LogBuilder, effects: tuple[Effect, ...]) -> None:
    assert does(log) == effects


BUDGETS = {
    "the last turn was taken": (turns(ready(), ["ok"] * 2), plans(max_turns=2)),
    "the last call was made": (turns(ready(), ["ok"] * 2), plans(max_steps=2)),
    "a follow-up finds no turn left": (answered().enqueued(), plans(max_turns=1)),
    "a pause finds no turn left": (calling().model_finished("hm", **PAUSE), plans(max_turns=1)),
}


@pytest.mark.parametrize(("log", "given"), BUDGETS.values(), ids=BUDGETS)
def test_a_lane_without_budget_fails(log: LogBuilder, given: Plans) -> None:
    assert does(log, given) == fails("budget_exhausted", wording.lane_budget_exhausted())


def test_an_answer_needs_no_budget() -> None:
    assert does(answered("done"), plans(max_turns=1)) == done(5, text="done")


def test_a_repeated_call_ends_the_lane_when_its_answer_never_changed() -> None:
    log = ready()
    for n in range(6):
        log.turn().model_started().model_finished(calls=[("pay", {})])
        _ = log.tool_started().tool_finished(result=1) if n < 2 else log.refused(kind="repeated_call")
    assert does(log) == fails("repeated_call", wording.lane_repeated_call(6))


def test_two_cut_answers_with_calls_end_the_lane() -> None:
    log = ready()
    for n in range(2):
        log.turn().model_started().model_finished("", [("pay", {"n": n})], **LENGTH)
        log.refused(kind="truncated_call")
    assert does(log) == fails("output_truncated", wording.output_truncated())


# --- the calls of a turn (C) -----------------------------------------------------------------------------

CALLS: dict[str, tuple[LogBuilder, tuple[ToolMode, ...]]] = {
    "an announced call begins": (acting(), ("begin",)),
    "all calls of a turn begin side by side": (acting(TWO), ("begin", "begin")),
    "a started call of this Attempt runs": (started(), ("run",)),
    "a call that may be repeated begins again": (started(safe_to_retry=True).attempt(), ("begin",)),
    "a call with a probe asks the world": (started(probe=True).attempt(), ("probe",)),
    "a repeatable call is not asked about": (started(probe=True, safe_to_retry=True).attempt(), ("begin",)),
    "a call begun again runs": (started(safe_to_retry=True).attempt().tool_started(), ("run",)),
    "an approved call begins": (waiting().resumed(), ("begin",)),
    "one in flight and one to begin": (acting(TWO).tool_started(0), ("run", "begin")),
}


@pytest.mark.parametrize(("log", "modes"), CALLS.values(), ids=CALLS)
def test_a_call_does(log: LogBuilder, modes: tuple[ToolMode, ...]) -> None:
    now = log.state()
    assert does(log)[:-1] == runs(log, *modes)[:-1]
    assert does(log)[-1] == Park(now.effective_deadline_at)


def test_a_call_that_waits_stops_no_other() -> None:
    log = acting(TWO).suspended(0)
    call = log.state().calls_of("")[1]
    assert does(log) == (RunTool("", call.call_id, "begin"), REST)


@pytest.mark.parametrize("first", [0, 1])
def test_answers_come_in_any_order_and_over_attempts_each_to_its_own_call(first: int) -> None:
    log = acting(TWO).suspended(0).suspended(1).resumed(first).attempt()
    calls = log.state().calls_of("")
    assert does(log)[:-1] == (RunTool("", calls[first].call_id, "begin"),)
    other = log.resumed(1 - first, approved=False)
    effects = does(other)
    assert isinstance(effects[0], Append)
    assert effects[0].records[0].model_dump()["call_id"] == calls[1 - first].call_id


def test_an_unsafe_call_of_a_dead_attempt_is_unknown_and_never_run() -> None:
    log = started().attempt()
    assert does(log) == (Append((ended(log.state().calls_of("")[0], ToolOutcome.UNKNOWN),)),)


def test_an_approved_call_whose_worker_dies_is_unknown() -> None:
    log = waiting().resumed().tool_started().attempt()
    assert does(log) == (Append((ended(log.state().calls_of("")[0], ToolOutcome.UNKNOWN),)),)


def test_a_call_whose_wait_expired_has_nothing_of_its_own() -> None:
    state = waiting().resumed(**EXPIRED).state()
    assert call_effects(plan(), state, state.lanes[""]) == ()


@pytest.mark.parametrize("reason", ["not today", "", 7], ids=["said", "unsaid", "no text"])
def test_a_denied_call_is_refused_with_the_persons_reason(reason: object) -> None:
    log = waiting().resumed(approved=False, payload={"reason": reason})
    said = reason if isinstance(reason, str) else ""
    failure = ToolFailure(kind=FailureKind.DENIED, message=wording.denied(said))
    state = log.state()
    assert does(log) == (Append((refused(state, state.calls_of("")[0], failure),)),)


def test_a_refusal_carries_the_digest_of_what_it_says() -> None:
    state = acting().state()
    failure = ToolFailure(kind=FailureKind.DENIED, message="no")
    record = refused(state, state.calls_of("")[0], failure)
    assert record.answer_digest == failure_digest(state, failure)
    assert record == type(record).model_validate(record.model_dump())


def test_appends_come_alone_and_everything_else_waits_for_the_next_question() -> None:
    log = acting(calls_of("pay", "look", "wait")).tool_started(0).tool_started(1).attempt()
    effects = does(log)
    assert [type(effect) for effect in effects] == [Append, Append]

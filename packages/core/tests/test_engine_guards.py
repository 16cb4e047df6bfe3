"""What a model asks for too often is refused: which guard speaks first, and none ever changes its mind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from packages.core.tests.logs import acting, calls_of, ready, turns
from packages.core.tests.tape import Tape, tapes
from psych_runtime.testing.log_builder import Calls, LogBuilder
from psych_runtime_core.engine.guards import guard
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.spec.limits import Limits
from psych_runtime_core.state.run import RunStateView

LIMITS = Limits()
SAME: Calls = [("pay", {"n": 1})]
BUDGETS = {"too_many_calls", "budget_exhausted"}


def verdicts(state: RunStateView, limits: Limits = LIMITS) -> list[str | None]:
    """The guard's word on each unfinished call, in call order."""
    lane = state.lanes[""]
    failures = (guard(limits, lane, call) for call in state.calls_of(""))
    return [failure.kind if failure else None for failure in failures]


def asking_for(log: LogBuilder, calls: Calls, finish: FinishReason = FinishReason.TOOL_CALLS) -> RunStateView:
    """The next turn of `log` announces `calls`."""
    return log.turn().model_started().model_finished(calls=calls, finish_reason=finish).state()


def repeated(times: int) -> LogBuilder:
    log = ready()
    for _ in range(times):
        log.call("pay", {"n": 1}, "same")
    return log


# --- each guard, at its edge -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finish", "kind"),
    [(FinishReason.LENGTH, "truncated_call"), (FinishReason.CONTENT_FILTER, "content_filter")],
)
def test_no_call_of_a_broken_answer_runs(finish: FinishReason, kind: str) -> None:
    assert verdicts(asking_for(ready(), calls_of("a", "b"), finish)) == [kind, kind]


def test_calls_past_the_limit_of_a_turn_are_refused() -> None:
    state = asking_for(ready(), calls_of("a", "b", "c"))
    assert verdicts(state, Limits(max_tool_calls_per_turn=2)) == [None, None, "too_many_calls"]


def test_calls_past_the_budget_of_a_lane_are_refused() -> None:
    state = asking_for(turns(ready(), ["ok"] * 2), calls_of("a", "b"))
    assert verdicts(state, Limits(max_steps=3)) == [None, "budget_exhausted"]


def test_a_refused_call_leaves_its_place_in_the_budget() -> None:
    log = acting(calls_of("a", "b"))
    assert verdicts(log.state(), Limits(max_steps=1)) == [None, "budget_exhausted"]
    assert verdicts(log.refused(0).state(), Limits(max_steps=1)) == [None]


STREAKS: dict[str, tuple[list[str], str | None]] = {
    "two in a row": (["error"] * 2, None),
    "three in a row": (["error"] * 3, "failure_streak"),
    "three, then refused for a turn": (["error"] * 3 + ["refused"], None),
    "three, refused, and once more": (["error"] * 3 + ["refused", "error"], "failure_streak"),
    "an ok between": (["error", "error", "ok", "error"], None),
    "refusals count for nothing": (["refused"] * 6, None),
    "unknowns count": (["unknown"] * 3, "failure_streak"),
}


@pytest.mark.parametrize(("outcomes", "kind"), STREAKS.values(), ids=STREAKS)
def test_a_tool_that_fails_is_withheld_for_one_turn(outcomes: list[str], kind: str | None) -> None:
    state = asking_for(turns(ready(), outcomes), [("pay", {"other": True})])
    assert verdicts(state) == [kind]


def test_a_withheld_tool_withholds_no_other() -> None:
    state = asking_for(turns(ready(), ["error"] * 3), calls_of("look", "pay"))
    assert verdicts(state) == [None, "failure_streak"]


def test_six_failures_in_one_turn_withhold_the_tool_in_the_next() -> None:
    log = acting([("pay", {"n": n}) for n in range(3)])
    for n in range(3):
        log.tool_started(n).tool_finished(n, outcome="error")
    assert verdicts(asking_for(log, SAME)) == ["failure_streak"]


def test_six_refusals_in_one_turn_withhold_nothing() -> None:
    log = acting([("pay", {"n": n}) for n in range(6)])
    for n in range(6):
        log.refused(n)
    assert verdicts(asking_for(log, [("pay", {"n": 7})])) == [None]


@pytest.mark.parametrize(("times", "kind"), [(1, None), (2, "repeated_call"), (5, "repeated_call")])
def test_an_equal_call_is_refused_at_the_third(times: int, kind: str | None) -> None:
    assert verdicts(asking_for(repeated(times), SAME)) == [kind]


def test_changing_answers_are_never_a_repeat() -> None:
    log = ready()
    for n in range(12):
        log.call("poll", {}, f"still {n}")
    assert verdicts(asking_for(log, [("poll", {})])) == [None]


def test_a_refused_call_is_a_repeat_like_any() -> None:
    log = ready()
    for _ in range(2):
        log.turn().model_started().model_finished(calls=SAME).refused(kind="unknown_tool")
    assert verdicts(asking_for(log, SAME)) == ["repeated_call"]


def test_a_message_between_two_equal_calls_changes_no_tally() -> None:
    log = repeated(2).enqueued().turn().consumed().model_started().model_finished(calls=SAME)
    assert verdicts(log.state()) == ["repeated_call"]


# --- which speaks first ----------------------------------------------------------------------------------

# Everything is wrong with this call at once; each step takes the first cause away.
ORDER: list[tuple[str, dict[str, Any]]] = [
    ("truncated_call", {"finish": FinishReason.LENGTH, "max_tool_calls_per_turn": 1}),
    ("content_filter", {"finish": FinishReason.CONTENT_FILTER, "max_tool_calls_per_turn": 1}),
    ("too_many_calls", {"max_tool_calls_per_turn": 1, "max_steps": 3}),
    ("budget_exhausted", {"max_steps": 3}),
    ("failure_streak", {"failure_streak_threshold": 3}),
    ("repeated_call", {"failure_streak_threshold": 4}),
]


@pytest.mark.parametrize(("kind", "limits"), ORDER, ids=[kind for kind, _ in ORDER])
def test_guards_speak_in_their_order(kind: str, limits: dict[str, Any]) -> None:
    finish = limits.pop("finish", FinishReason.TOOL_CALLS)
    failure = ToolFailure(kind="ValueError", message="same")
    log = ready()
    for _ in range(3):
        log.turn().model_started().model_finished(calls=SAME).tool_started()
        log.tool_finished(outcome="error", failure=failure)
    state = asking_for(log, [("look", {}), *SAME], finish)
    assert verdicts(state, Limits.model_validate(limits))[1] == kind


# --- stability -------------------------------------------------------------------------------------------


def may_begin(state: RunStateView, limits: Limits) -> set[str]:
    lane = state.lanes[""]
    judged = ((call, guard(limits, lane, call)) for call in state.calls_of("") if call.phase == "announced")
    return {call.call_id for call, failure in judged if failure is None or failure.kind not in BUDGETS}


@given(tapes(200))
@settings(max_examples=150)
def test_what_a_budget_let_pass_it_never_refuses_and_no_budget_is_passed(tape: Tape) -> None:
    limits = Limits(max_steps=1 + tape.below(12), max_tool_calls_per_turn=1 + tape.below(6))
    log = ready()
    for _ in range(1 + tape.below(4)):
        log.turn().model_started()
        log.model_finished(calls=[(f"tool_{n}", {"n": n}) for n in range(1 + tape.below(8))])
        passed: set[str] = set()
        while (state := log.state()).calls:
            passing = may_begin(state, limits)
            announced = {call.call_id for call in state.calls.values() if call.phase == "announced"}
            assert passed & announced <= passing
            passed |= passing
            move(tape, log, state, passing)
        assert state.lanes[""].calls_started <= limits.max_steps


def move(tape: Tape, log: LogBuilder, state: RunStateView, passing: set[str]) -> None:
    """Something comes back: a begin of any call, its refusal, a Wait and its answer, a result."""
    call = tape.one_of(state.calls_of(""))
    if call.phase == "started":
        log.tool_finished(call.call_id, 1)
    elif call.call_id not in passing:
        log.refused(call.call_id, kind="budget_exhausted")
    elif call.wait_id is None:
        (log.tool_started, log.refused, log.suspended)[tape.below(3)](call.call_id)
    elif call.approved is None:
        log.resumed(call.call_id)
    else:
        (log.tool_started, log.refused)[tape.below(2)](call.call_id)

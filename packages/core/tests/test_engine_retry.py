"""A model call that failed: which model is tried next, when, and when none is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.logs import calling
from packages.core.tests.plans import HASH, plan
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.engine.effects import Append, ModelProblem, Park
from psych_runtime_core.engine.retry import failed_call, retry_delay
from psych_runtime_core.ids import RunId
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.records.turn import ModelCallFailed
from psych_runtime_core.usage import Usage

NOW = START + timedelta(seconds=100)
TRANSIENT = ToolFailure(kind="transient", message="busy", transient=True)
GONE = ToolFailure(kind="permanent", message="no such model", code="model_not_found")
EMPTY = ToolFailure(kind="empty_response", message="nothing", transient=True)
NEVER = [
    ToolFailure(kind=kind, message="no", code=code)
    for kind in (
        *("permanent", "auth", "content_filter", "context_overflow"),
        *("access_denied", "credential_not_found", "invalid_prompt"),
    )
    for code in (None, "model_not_found")
    if (kind, code) != ("permanent", "model_not_found")
]


def hinted(seconds: float) -> ToolFailure:
    return ToolFailure(kind="transient", message="busy", transient=True, retry_after_seconds=seconds)


@dataclass
class Fallbacks:
    """A Spec's ring and budget, and what failed."""

    names: tuple[str, ...] = ("b", "c")
    budget: int = 8

    def after(self, log: LogBuilder, failure: ToolFailure) -> ModelCallFailed:
        state = log.state()
        made = plan(*self.names, transient_retry_budget=self.budget)
        return failed_call(made, state, state.lanes[""], ModelProblem(failure), NOW)


RING, ALONE = Fallbacks(), Fallbacks(names=())


def decided(record: ModelCallFailed) -> tuple[str, str | None, bool]:
    """What follows, of which model, and whether at once."""
    return record.next, record.next_model, record.retry_at is None


def second(failure: ToolFailure = TRANSIENT) -> LogBuilder:
    """The second model of the ring is being asked, after `failure` of the first."""
    return calling().model_failed(failure=failure, next_model="b").model_started()


def third(first: ToolFailure = TRANSIENT, then: ToolFailure = TRANSIENT) -> LogBuilder:
    return second(first).model_failed(failure=then, next_model="c").model_started()


AT_ONCE, LATER, STOP = True, False, ("stop", None, True)
ROWS: dict[str, tuple[Fallbacks, LogBuilder, ToolFailure, tuple[str, str | None, bool]]] = {
    "the next name at once": (RING, calling(), TRANSIENT, ("retry", "b", AT_ONCE)),
    "and the one after it": (RING, second(), TRANSIENT, ("retry", "c", AT_ONCE)),
    "after the last the round begins again, later": (
        RING,
        third(),
        TRANSIENT,
        ("retry", "test-model", LATER),
    ),
    "one name alone is tried again later": (ALONE, calling(), TRANSIENT, ("retry", "test-model", LATER)),
    "a withdrawn name goes to the next": (RING, calling(), GONE, ("retry", "b", AT_ONCE)),
    "a withdrawn name is not entered again": (RING, third(GONE), TRANSIENT, ("retry", "b", LATER)),
    "the last name left": (RING, third(GONE, GONE), TRANSIENT, ("retry", "c", LATER)),
    "no name left": (RING, third(GONE, GONE), GONE, STOP),
    "no name left of one": (ALONE, calling(), GONE, STOP),
    "the budget is spent": (Fallbacks(budget=2), third(), TRANSIENT, STOP),
    "the last of the budget": (Fallbacks(budget=3), third(), TRANSIENT, ("retry", "test-model", LATER)),
    "no budget at all": (Fallbacks(budget=0), calling(), TRANSIENT, STOP),
    "a name whose hint has not passed is left out": (
        RING,
        third(hinted(500), hinted(1)),
        TRANSIENT,
        ("retry", "b", LATER),
    ),
    "a hint past the deadline leaves no name": (ALONE, calling(), hinted(900), STOP),
    "a hint past the deadline leaves the others": (
        RING,
        third(hinted(900)),
        hinted(900),
        ("retry", "b", LATER),
    ),
    "a hint of the failing call still goes to the next name": (
        RING,
        calling(),
        hinted(900),
        ("retry", "b", AT_ONCE),
    ),
}


@pytest.mark.parametrize(("ring", "log", "failure", "answer"), ROWS.values(), ids=ROWS)
def test_what_follows_a_failed_call(
    ring: Fallbacks, log: LogBuilder, failure: ToolFailure, answer: tuple[str, str | None, bool]
) -> None:
    assert decided(ring.after(log, failure)) == answer


@pytest.mark.parametrize(
    ("ring", "failure", "told"),
    [
        pytest.param(
            Fallbacks((), 0), TRANSIENT, "busy. The budget of 0 tries again is used up.", id="no budget"
        ),
        pytest.param(ALONE, hinted(900), "busy. It asks to wait 900 s, and the deadline is in", id="a hint"),
        pytest.param(ALONE, GONE, "no such model", id="no name left"),
        pytest.param(Fallbacks((), 0), GONE, "no such model", id="a name that is gone costs no try"),
        pytest.param(RING, hinted(900), "busy", id="another is tried"),
    ],
)
def test_the_last_failure_says_why_no_try_follows_that_could_help(
    ring: Fallbacks, failure: ToolFailure, told: str
) -> None:
    record = ring.after(calling(), failure)
    whole = record.failure.message == told
    assert whole if told in {"busy", "no such model"} else record.failure.message.startswith(told)
    assert record.failure.kind == failure.kind


# Where in its round a failing model stands.
PLACES: dict[str, tuple[Fallbacks, Callable[[], LogBuilder]]] = {
    "alone": (ALONE, calling),
    "first": (RING, calling),
    "second": (RING, second),
    "last": (RING, third),
}
CELLS = [
    *[("alone", failure, ("retry", "test-model", LATER)) for failure in (TRANSIENT, EMPTY)],
    *[("first", failure, ("retry", "b", AT_ONCE)) for failure in (TRANSIENT, EMPTY, GONE)],
    *[("second", failure, ("retry", "c", AT_ONCE)) for failure in (TRANSIENT, EMPTY, GONE)],
    *[("last", failure, ("retry", "test-model", LATER)) for failure in (TRANSIENT, EMPTY, GONE)],
    ("alone", GONE, STOP),
    *[(place, failure, STOP) for place in PLACES for failure in NEVER],
]


@pytest.mark.parametrize(
    ("place", "failure", "answer"),
    [pytest.param(*cell, id=f"{cell[0]}-{cell[1].kind}-{cell[1].code}") for cell in CELLS],
)
def test_what_follows_each_kind_of_failure_at_each_place_of_the_round(
    place: str, failure: ToolFailure, answer: tuple[str, str | None, bool]
) -> None:
    ring, log = PLACES[place]
    assert decided(ring.after(log(), failure)) == answer


def test_a_later_name_whose_own_hint_has_not_passed_is_skipped_at_once() -> None:
    log = third(TRANSIENT, hinted(500)).model_failed(next_model="test-model", retry_at=NOW).model_started()
    assert decided(RING.after(log, TRANSIENT)) == ("retry", "c", AT_ONCE)


def test_a_failure_is_recorded_whole_with_what_it_used() -> None:
    state = second().state()
    usage = Usage(input=1, output=2)
    record = failed_call(plan("b"), state, state.lanes[""], ModelProblem(TRANSIENT, usage), NOW)
    assert (record.turn, record.try_number, record.model) == (1, 2, "b")
    assert (record.failure, record.usage, record.cost) == (TRANSIENT, usage, None)


def test_a_retry_waits_as_long_as_its_round_says() -> None:
    record = ALONE.after(calling(), TRANSIENT)
    assert record.retry_at == NOW + timedelta(seconds=retry_delay(1, None, "run_test::1:1"))
    again = calling().model_failed(retry_at=NOW).model_started()
    record = ALONE.after(again, TRANSIENT)
    assert record.retry_at == NOW + timedelta(seconds=retry_delay(2, None, "run_test::1:2"))


def test_a_retry_never_comes_before_the_hint() -> None:
    record = ALONE.after(calling(), hinted(60))
    assert record.retry_at is not None
    assert 60 <= (record.retry_at - NOW).total_seconds() <= 65


def test_a_retry_lies_before_the_deadline() -> None:
    late = ToolFailure(kind="transient", transient=True)
    state = calling().state()
    just = state.effective_deadline_at
    assert just is not None
    record = failed_call(plan(), state, state.lanes[""], ModelProblem(late), just - timedelta(seconds=0.1))
    assert decided(record) == STOP


def test_what_is_left_of_another_models_hint_is_spread_as_well() -> None:
    moments = set[datetime]()
    for n in range(50):
        log = LogBuilder(run_id=RunId(f"run_{n}")).admitted().attempt().turn().model_started()
        log.model_failed(failure=hinted(200), next_model="b").model_started()
        asked_at = log.state().lanes[""].tried["test-model"]
        record = Fallbacks(names=("b",)).after(log, hinted(300))
        assert (record.next_model, record.retry_at is not None) == ("test-model", True)
        assert record.retry_at is not None
        assert asked_at <= record.retry_at <= asked_at + timedelta(seconds=5)
        moments.add(record.retry_at)
    assert len(moments) == 50


def test_what_is_left_of_another_models_hint_shortens_no_pause() -> None:
    log = second(hinted(100.05))
    asked_at = log.state().lanes[""].tried["test-model"]
    state = log.state()
    problem = ModelProblem(hinted(300))
    record = failed_call(plan("b"), state, state.lanes[""], problem, asked_at - timedelta(seconds=0.001))
    assert record.retry_at is not None
    assert record.retry_at - asked_at > timedelta(seconds=0.2)


def test_the_next_turn_starts_with_the_first_name_again() -> None:
    log = second(GONE).model_finished(calls=[("pay", {"n": 1})]).refused().turn().model_started()
    assert log.state().lanes[""].model == "test-model"
    assert decided(RING.after(log, TRANSIENT)) == ("retry", "b", AT_ONCE)


# --- a crash -----------------------------------------------------------------------------------------------


def test_a_new_attempt_neither_shortens_nor_repeats_the_wait() -> None:
    made = plan("b", transient_retry_budget=8)
    later = NOW + timedelta(seconds=20)
    log = calling().model_failed(retry_at=later)
    before = next_effects({HASH: made}, log.state(), NOW)
    after = next_effects({HASH: made}, log.attempt().state(), NOW)
    assert before == after == (Park(until=later),)
    (called,) = next_effects({HASH: made}, log.state(), later)
    assert isinstance(called, Append)
    assert [record.type for record in called.records] == ["model_call_started"]


def test_a_new_attempt_does_not_refill_the_budget() -> None:
    spent = Fallbacks(names=(), budget=2)
    log = calling().model_failed().model_started().model_failed().attempt().model_started()
    assert log.state().lanes[""].retries_used == 2
    assert decided(spent.after(log, TRANSIENT)) == STOP


def test_a_try_that_a_crash_lost_costs_nothing() -> None:
    spent = Fallbacks(names=(), budget=1)
    log = calling().attempt().model_started()
    assert decided(spent.after(log, TRANSIENT)) == ("retry", "test-model", LATER)


def test_a_budget_is_of_the_lane_and_not_of_the_turn() -> None:
    spent = Fallbacks(budget=1)
    log = second().model_finished(calls=[("pay", {"n": 1})]).refused().turn().model_started()
    assert decided(spent.after(log, TRANSIENT)) == STOP


# --- the delay -------------------------------------------------------------------------------------------

keys = st.text(max_size=20)
rounds = st.integers(1, 10_000)


@given(rounds, keys)
def test_a_pause_doubles_up_to_half_a_minute_and_is_spread_over_its_half(n: int, key: str) -> None:
    whole = min(0.5 * 2.0 ** min(n - 1, 60), 30.0)
    assert whole / 2 <= retry_delay(n, None, key) < whole


@given(rounds, st.floats(0, 86_400), keys)
def test_a_hint_is_never_undercut_and_spread_over_a_tenth(n: int, hint: float, key: str) -> None:
    assert hint <= retry_delay(n, hint, key) <= hint + min(hint / 10, 5.0)


@given(rounds, st.none() | st.floats(0, 86_400), keys)
def test_a_delay_depends_on_its_arguments_alone(n: int, hint: float | None, key: str) -> None:
    assert retry_delay(n, hint, key) == retry_delay(n, hint, key)


def busiest_and_mean(moments: list[float]) -> tuple[int, float]:
    """How many come in the busiest second, and in each on average, from the first to the last."""
    first, last = min(moments), max(moments)
    seconds = Counter(math.floor(moment - first) for moment in moments)
    return max(seconds.values()), len(moments) / math.ceil(last - first)


@pytest.mark.parametrize(("n", "hint"), [(5, None), (6, None), (7, None), (9, None), (1, 60.0), (3, 600.0)])
def test_five_hundred_runs_refused_in_one_second_come_back_spread_out(n: int, hint: float | None) -> None:
    earliest = hint if hint is not None else min(0.5 * 2 ** (n - 1), 30) / 2
    refused = [run / 500 for run in range(500)]
    delays = [retry_delay(n, hint, f"run_{run}::1:{n}") for run in range(500)]
    busiest, mean = busiest_and_mean([at + delay for at, delay in zip(refused, delays, strict=True)])
    assert min(delays) >= earliest
    assert busiest <= 3 * mean
    assert mean < 500 / 3


def test_the_spread_is_that_of_every_release() -> None:
    assert retry_delay(1, None, "run_1::1:1") == pytest.approx(0.330554, abs=1e-6)
    assert retry_delay(9, None, "run_1::1:1") == pytest.approx(19.833234, abs=1e-6)
    assert retry_delay(1, 2.0, "run_1::1:1") == pytest.approx(2.064443, abs=1e-6)

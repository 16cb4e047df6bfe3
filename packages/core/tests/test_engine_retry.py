"""A model call that failed: which model is tried next, when, and when none is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.logs import calling
from packages.core.tests.plans import plan
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.engine.effects import ModelProblem
from psych_runtime_core.engine.retry import failed_call, retry_delay
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.records.turn import ModelCallFailed
from psych_runtime_core.usage import Usage

NOW = START + timedelta(seconds=100)
TRANSIENT = ToolFailure(kind="transient", message="busy", transient=True)
GONE = ToolFailure(kind="permanent", message="no such model", code="model_not_found")
NEVER = [
    ToolFailure(kind=kind, message="no")
    for kind in ("permanent", "auth", "content_filter", "context_overflow")
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


@pytest.mark.parametrize("failure", NEVER, ids=lambda failure: failure.kind)
def test_what_is_not_transient_is_not_shopped_around(failure: ToolFailure) -> None:
    assert decided(RING.after(calling(), failure)) == STOP


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


def test_five_hundred_runs_come_back_spread_out() -> None:
    delays = sorted(retry_delay(1, 10.0, f"run_{n}::1:1") for n in range(500))
    busiest: Any = max(sum(start <= delay < start + 0.1 for delay in delays) for start in delays)
    assert delays[0] >= 10.0
    assert busiest < 100


def test_the_spread_is_that_of_every_release() -> None:
    assert retry_delay(1, None, "run_1::1:1") == pytest.approx(0.330554, abs=1e-6)
    assert retry_delay(9, None, "run_1::1:1") == pytest.approx(19.833234, abs=1e-6)
    assert retry_delay(1, 2.0, "run_1::1:1") == pytest.approx(2.064443, abs=1e-6)

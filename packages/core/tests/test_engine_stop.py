"""How a Run that must stop closes what is open and settles, for each cause."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.core.tests.logs import acting, answered, calling, calls_of, failed, ready, started, waiting
from packages.core.tests.plans import plans
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.engine.decide import due_effects, next_effects
from psych_runtime_core.engine.effects import Append, Effect, Park, Settle
from psych_runtime_core.engine.ending import closing
from psych_runtime_core.engine.results import ended
from psych_runtime_core.records import decode, stamp
from psych_runtime_core.records.facts import TerminalState, ToolFailure, ToolOutcome
from psych_runtime_core.state.fold import apply, fold
from psych_runtime_core.state.run import RunStateView

PLANS = plans()
NOW = START + timedelta(seconds=100)
DEADLINE = START + timedelta(seconds=900)
TWO = calls_of("pay", "look")


def erased(log: LogBuilder) -> RunStateView:
    codec = SealingCodec()
    entries = log.entries(codec)
    codec.destroy("acme")
    records = [decode(entry, run_id=log.run_id, scope=log.scope, codec=codec) for entry in entries]
    return fold(records, run_id=log.run_id)


def expired(log: LogBuilder) -> RunStateView:
    return log.resumed(approved=None, cause="expired").state()


# Each cause brings a log to a stop, at a moment; and how the Run settles.
CAUSES: dict[str, tuple[Callable[[LogBuilder], RunStateView], float, tuple[str, str | None]]] = {
    "abort": (lambda log: log.abort("stop").state(), 100, ("aborted", None)),
    "erased": (erased, 100, ("failed", "erased")),
    "deadline": (lambda log: log.state(), 900, ("aborted", "deadline")),
    "abort over deadline": (lambda log: log.abort().state(), 900, ("aborted", None)),
    "erased over deadline": (erased, 900, ("failed", "erased")),
    "abort over erased": (lambda log: erased(log.abort()), 100, ("aborted", None)),
}
causes = pytest.mark.parametrize(("stop", "seconds", "end"), CAUSES.values(), ids=CAUSES)
Stop = Callable[[LogBuilder], RunStateView]


def ends_as(effects: tuple[Effect, ...]) -> tuple[str, str | None]:
    assert len(effects) == 1
    assert isinstance(effects[0], Settle)
    failure = effects[0].record.failure
    return effects[0].record.state.value, failure.kind if failure else None


@causes
@pytest.mark.parametrize("log", [ready, calling, answered, failed])
def test_a_run_with_no_open_call_settles(
    log: Callable[[], LogBuilder], stop: Stop, seconds: float, end: tuple[str, str | None]
) -> None:
    state, now = stop(log()), START + timedelta(seconds=seconds)
    assert ends_as(next_effects(PLANS, state, now)) == end
    assert due_effects(state, now) == next_effects(PLANS, state, now)


@causes
def test_announced_calls_are_aborted_since_nothing_of_them_began(
    stop: Stop, seconds: float, end: tuple[str, str | None]
) -> None:
    state = stop(acting(TWO))
    records = tuple(ended(call, ToolOutcome.ABORTED) for call in state.calls_of(""))
    assert next_effects(PLANS, state, START + timedelta(seconds=seconds)) == (Append(records),)


def test_a_call_that_waits_for_a_person_is_aborted() -> None:
    state = waiting().abort().state()
    assert next_effects(PLANS, state, NOW) == (Append((ended(state.calls_of("")[0], ToolOutcome.ABORTED),)),)


def test_an_approved_call_that_did_not_begin_never_does() -> None:
    state = waiting().resumed().abort().state()
    assert next_effects(PLANS, state, NOW) == (Append((ended(state.calls_of("")[0], ToolOutcome.ABORTED),)),)


@pytest.mark.parametrize(
    "fields", [{}, {"safe_to_retry": True}, {"probe": True}], ids=["unsafe", "safe", "probe"]
)
def test_a_dead_attempts_call_is_unknown_and_never_run(fields: dict[str, bool]) -> None:
    state = started(**fields).abort().attempt().state()
    assert next_effects(PLANS, state, NOW) == (Append((ended(state.calls_of("")[0], ToolOutcome.UNKNOWN),)),)


def test_a_call_that_runs_here_is_the_drivers_to_cut_short() -> None:
    state = acting(TWO).tool_started(0).abort().state()
    announced = state.calls_of("")[1]
    assert next_effects(PLANS, state, NOW) == (Append((ended(announced, ToolOutcome.ABORTED),)),)
    alone = acting(TWO).tool_started(0).refused(1).abort().state()
    assert next_effects(PLANS, alone, NOW) == (Park(DEADLINE),)
    assert next_effects(PLANS, started().state(), DEADLINE) == (Park(None),)


def test_a_retry_that_waits_is_given_up() -> None:
    state = calling().model_failed(retry_at=DEADLINE).abort().state()
    assert ends_as(next_effects(PLANS, state, NOW)) == ("aborted", None)


def test_an_expired_wait_abandons_the_run() -> None:
    state = expired(waiting())
    assert next_effects(PLANS, state, NOW) == (Append((ended(state.calls_of("")[0], ToolOutcome.ABORTED),)),)
    log = waiting().resumed(approved=None, cause="expired").tool_finished(outcome="aborted")
    assert ends_as(next_effects(PLANS, log.state(), NOW)) == ("abandoned", "suspension_expired")


def test_an_abort_beats_an_expiry() -> None:
    log = waiting().resumed(approved=None, cause="expired").abort().tool_finished(outcome="aborted")
    assert ends_as(next_effects(PLANS, log.state(), NOW)) == ("aborted", None)


def test_the_deadline_comes_before_a_wait_that_is_due_beside_other_work() -> None:
    log = acting(TWO).suspended(0, due_at=DEADLINE)
    effects = next_effects(PLANS, log.state(), DEADLINE)
    assert isinstance(effects[0], Append)
    assert [record.type for record in effects[0].records] == ["tool_call_finished"] * 2


def test_nothing_stops_while_everybody_waits() -> None:
    late = START + timedelta(seconds=5_000)
    assert next_effects(PLANS, waiting().state(), late) == (Park(START + timedelta(days=7, seconds=5)),)


def test_a_late_approval_still_runs() -> None:
    state = waiting().at(5_000).resumed().state()
    effects = next_effects(PLANS, state, START + timedelta(seconds=5_001))
    assert [type(effect).__name__ for effect in effects] == ["RunTool", "Park"]


def test_a_run_that_left_a_call_alone_is_force_settled() -> None:
    left = ToolFailure(kind="force_settled", message="left alone")
    log = started().abort().tool_finished(outcome="unknown", failure=left)
    assert ends_as(next_effects(PLANS, log.state(), NOW)) == ("force_settled", "force_settled")


# --- ends that only the Worker knows ---------------------------------------------------------------------

FAILURE = ToolFailure(kind="attempts_exhausted", message="it died too often")
OPEN: dict[str, tuple[LogBuilder, list[str]]] = {
    "nothing": (ready(), []),
    "a model call": (calling(), []),
    "an announced and a started call": (acting(TWO).tool_started(0), ["unknown", "aborted"]),
    "a Wait": (waiting(), ["aborted"]),
    "a dead Attempt's call": (started(safe_to_retry=True).attempt(), ["unknown"]),
}


@pytest.mark.parametrize(("log", "outcomes"), OPEN.values(), ids=OPEN)
def test_closing_ends_what_is_open_and_then_the_run(log: LogBuilder, outcomes: list[str]) -> None:
    state = log.state()
    records = closing(state, TerminalState.FAILED, FAILURE)
    assert [record.model_dump().get("outcome") for record in records[:-1]] == outcomes
    for record in records:
        seq = state.head_seq + 1
        apply(state, stamp(record, run_id=log.run_id, seq=seq, at=NOW, tenant="acme", epoch=state.epoch))
    assert (state.terminal_state, state.settled and state.settled.failure) == ("failed", FAILURE)

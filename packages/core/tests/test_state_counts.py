"""What a state counts: money and calls, failures in a row, repeats, and time in which everybody waits."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from packages.core.tests.logs import (
    acting,
    answered,
    asking,
    calling,
    calls_of,
    failed,
    queued,
    ready,
    started,
    turns,
    waiting,
)
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.ids import blob_name
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records.facts import FailureKind, ResultAttachment, Sent, ToolFailure
from psych_runtime_core.state.fold import facts_of
from psych_runtime_core.state.handles import Handle
from psych_runtime_core.state.lane import TALLIES_KEPT, WITHDRAWN, LaneState, Repeat, Streak
from psych_runtime_core.state.meter import Meter
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.usage import Cost, Usage

USD, EUR = Cost(amount=Decimal("0.1")), Cost(amount=Decimal("0.2"), currency="EUR", source="provider")
USAGE = Usage(input=10, output=5)
CUT: dict[str, Any] = {"finish_reason": FinishReason.LENGTH}


def lane_of(log: LogBuilder) -> LaneState:
    return log.state().lanes[""]


def meter_of(log: LogBuilder) -> Meter:
    return log.state().meter


# --- the meter -------------------------------------------------------------------------------------------


def test_nothing_called_is_no_usage_and_no_cost() -> None:
    assert meter_of(ready()) == Meter()
    assert (Meter().usage, Meter().cost) == (None, None)


def test_an_answer_and_a_failure_add_what_they_used_and_cost() -> None:
    log = calling().model_failed(usage=USAGE, cost=USD).model_started().model_finished(usage=USAGE, cost=USD)
    meter = meter_of(log)
    assert meter.usage == Usage(input=20, output=10)
    assert meter.cost == Cost(amount=Decimal("0.2"))
    assert (meter.model_calls, meter.failed_model_calls, meter.retries_used) == (1, 1, 1)
    assert (meter.unreported_usage_calls, meter.unpriced_model_calls) == (0, 0)


def test_what_a_provider_did_not_say_is_unknown_and_never_zero() -> None:
    meter = meter_of(calling().model_failed().model_started().model_finished(usage=None))
    assert (meter.usage, meter.cost) == (None, None)
    assert (meter.unreported_usage_calls, meter.unpriced_model_calls) == (2, 1)


@pytest.mark.parametrize(
    ("begun", "cost", "unpriced"),
    [
        pytest.param(True, None, 1, id="it had begun"),
        pytest.param(True, USD, 0, id="it had begun and said what it cost"),
        pytest.param(False, None, 0, id="no answer was begun"),
    ],
)
def test_a_failed_try_is_unpriced_if_an_answer_had_begun(
    begun: bool, cost: Cost | None, unpriced: int
) -> None:
    assert meter_of(calling().model_failed(begun=begun, cost=cost)).unpriced_model_calls == unpriced


def test_two_currencies_are_two_totals_and_no_sum() -> None:
    log = answered().turn().model_started().model_finished(cost=USD)
    meter = meter_of(log.turn().model_started().model_finished(cost=EUR))
    assert meter.costs == {"USD": USD, "EUR": EUR}
    assert (meter.cost, meter.provider_reported_costs, meter.unpriced_model_calls) == (None, 1, 1)


@pytest.mark.parametrize(
    "log",
    [calling().attempt().model_started(), calling().settled("aborted")],
    ids=["a newer Attempt", "the end"],
)
def test_a_try_whose_end_nobody_saw_is_lost_and_unreported(log: LogBuilder) -> None:
    meter = meter_of(log)
    assert (meter.lost_model_calls, meter.unreported_usage_calls, meter.model_calls) == (1, 1, 0)


def test_a_call_counts_once_however_often_it_begins() -> None:
    log = started(safe_to_retry=True).attempt().tool_started().tool_finished()
    assert (meter_of(log).tool_calls, lane_of(log).calls_started) == (1, 1)


def test_a_refused_call_counts_as_refused_and_not_as_begun() -> None:
    log = acting(calls_of("a", "b")).refused(1)
    assert (meter_of(log).tool_calls, meter_of(log).refused_calls) == (0, 1)
    assert (lane_of(log).calls_started, lane_of(log).refused) == (0, (1,))


# --- failures in a row -----------------------------------------------------------------------------------

STREAKS = {
    "error and unknown count": (["error", "unknown"], Streak(2, 2)),
    "refused and aborted count nothing": (["error", "refused"], Streak(1, 1)),
    "ok clears": (["error", "error", "ok"], None),
    "and it begins again": (["error", "ok", "error"], Streak(1, 3)),
}


@pytest.mark.parametrize(("outcomes", "streak"), STREAKS.values(), ids=STREAKS)
def test_a_streak_is_of_failures_in_a_row(outcomes: list[str], streak: Streak | None) -> None:
    assert lane_of(turns(ready(), outcomes)).streaks.get("pay") == streak


def test_an_aborted_call_leaves_a_streak_as_it_is() -> None:
    log = turns(ready(), ["error"]).turn().model_started().model_finished(calls=calls_of("pay"))
    assert lane_of(log.tool_finished(outcome="aborted")).streaks["pay"] == Streak(1, 1)


def test_each_tool_has_a_streak_and_a_turn_its_highest() -> None:
    log = turns(turns(ready(), ["error", "error"]), ["error"], tool="look")
    assert lane_of(log).streaks == {"pay": Streak(2, 2), "look": Streak(1, 3)}
    assert lane_of(log).streak_peak == 1
    assert lane_of(log.turn()).streak_peak == 0


def test_an_ok_after_a_failure_in_one_turn_leaves_the_peak() -> None:
    log = acting(calls_of("pay", "pay")).tool_started(0).tool_started(1)
    lane = lane_of(log.tool_finished(0, outcome="error").tool_finished(1))
    assert (lane.streak_peak, lane.streaks) == (1, {})


# --- repeats ---------------------------------------------------------------------------------------------


def again(log: LogBuilder, result: Any = 1, outcome: str = "ok") -> LogBuilder:
    return log.call("pay", {"n": 1}, result, outcome=outcome)


def repeat_of(log: LogBuilder) -> Repeat | None:
    return next(iter(lane_of(log).repeats.values()), None)


def test_an_equal_call_with_an_equal_answer_is_counted() -> None:
    log = again(again(ready()))
    repeat = repeat_of(log)
    assert repeat is not None
    assert (repeat.count, lane_of(log).repeat_peak) == (2, 2)


@pytest.mark.parametrize("result", [2, "1", None])
def test_a_changed_answer_begins_the_count_anew(result: object) -> None:
    repeat = repeat_of(again(again(again(ready())), result))
    assert repeat is not None
    assert repeat.count == 1


def test_equal_failures_are_equal_answers() -> None:
    repeat = repeat_of(again(again(ready(), None, "error"), None, "error"))
    assert repeat is not None
    assert repeat.count == 2


def test_a_refused_repeat_counts_and_keeps_the_answer() -> None:
    log = again(again(ready())).turn().model_started().model_finished(calls=[("pay", {"n": 1})])
    before = repeat_of(log)
    after = repeat_of(log.refused(kind="repeated_call"))
    assert before is not None
    assert after == Repeat(3, before.answer_digest)


def test_a_tool_whose_error_is_named_like_a_refusal_of_ours_is_an_error_like_any() -> None:
    named = ToolFailure(kind=FailureKind.REPEATED_CALL, message="mine")
    log = again(ready()).turn().model_started().model_finished(calls=[("pay", {"n": 1})]).tool_started()
    repeat = repeat_of(log.tool_finished(outcome="error", failure=named))
    assert repeat is not None
    assert repeat.count == 1


def test_what_has_no_answer_counts_no_repeat() -> None:
    assert repeat_of(again(again(ready(), None, "unknown"), None, "unknown")) is None


def test_the_peak_is_of_this_turn() -> None:
    log = again(again(ready()))
    assert lane_of(log.turn()).repeat_peak == 0


def test_a_new_answer_in_the_same_turn_leaves_the_peak() -> None:
    log = again(ready()).turn().model_started().model_finished(calls=[("pay", {"n": 1}), ("pay", {"n": 2})])
    log.tool_started(0).tool_finished(0, 1).tool_started(1).tool_finished(1, 1)
    assert lane_of(log).repeat_peak == 2


def test_an_edited_call_is_counted_as_what_ran() -> None:
    log = waiting().resumed(arguments={"n": 9}, arguments_digest="9" * 64)
    assert set(lane_of(log.tool_started().tool_finished()).repeats) == {"9" * 64}


def test_only_the_newest_tallies_are_kept() -> None:
    log = ready()
    for n in range(TALLIES_KEPT + 3):
        log.call(f"tool_{n}", {"n": n}, outcome="error")
    lane = lane_of(log)
    assert list(lane.streaks) == [f"tool_{n}" for n in range(3, TALLIES_KEPT + 3)]
    assert len(lane.repeats) == TALLIES_KEPT


# --- turns and tries -------------------------------------------------------------------------------------


def test_answers_cut_off_in_a_row_are_counted_when_they_hold_calls() -> None:
    log, cut = ready(), CUT
    for n in range(2):
        log.turn().model_started().model_finished(calls=[("pay", {"n": n})], **cut).refused(
            kind="truncated_call"
        )
    assert lane_of(log).cut_turns == 2
    assert lane_of(log.turn().model_started().model_finished("text", **cut)).cut_turns == 0


def test_a_retry_is_counted_and_says_when_each_model_may_be_called_again() -> None:
    hint = ToolFailure(kind="transient", transient=True, retry_after_seconds=30)
    gone = ToolFailure(kind="permanent", code="model_not_found")
    log = calling().model_failed(failure=hint, next_model="b").model_started()
    log.model_failed(failure=gone, next_model="test-model", retry_at=START + timedelta(seconds=60))
    lane = lane_of(log)
    assert (lane.retries_used, lane.failures, lane.rounds, lane.model) == (2, 2, 1, "test-model")
    assert lane.tried == {"test-model": START + timedelta(seconds=34), "b": WITHDRAWN}
    assert lane.retry_at == START + timedelta(seconds=60)
    assert lane_of(log.model_started()).retry_at is None


def test_a_turn_begins_with_nothing_tried() -> None:
    log = calling().model_failed().model_started().model_finished(calls=calls_of("pay")).refused()
    lane = lane_of(log.turn())
    assert (lane.tried, lane.failures, lane.rounds, lane.try_number, lane.model) == ({}, 0, 0, 0, None)
    assert lane.retries_used == 1


def test_a_hint_beyond_the_end_of_time_is_kept_a_day_long() -> None:
    far = ToolFailure(kind="transient", transient=True, retry_after_seconds=1e300)
    tried = lane_of(calling().model_failed(failure=far)).tried
    assert tried["test-model"] == START + timedelta(seconds=4, days=1)


def test_a_lane_that_failed_says_why() -> None:
    failure = lane_of(failed()).failure
    assert failure is not None
    assert failure.kind == "auth"


def test_an_answer_is_held_with_its_place() -> None:
    answer = lane_of(answered("done")).answer
    assert answer is not None
    assert (answer.seq, answer.text, answer.refused) == (5, "done", False)
    refused = lane_of(calling().model_finished("no", finish_reason=FinishReason.REFUSAL)).answer
    assert refused is not None
    assert refused.refused


def test_the_first_place_of_a_prompt_and_of_tools_is_known() -> None:
    other = Sent(prompt_hash="a" * 64, tools_hash="1" * 64)
    log = calling().model_failed(sent=other).model_started().model_finished()
    state = log.turn().model_started().model_finished(sent=other).state()
    assert state.prompts == {"a" * 64: 5, "0" * 64: 7}
    assert state.toolsets == {"1" * 64: 5}


# --- waiting ---------------------------------------------------------------------------------------------


def deadline_of(state: RunStateView) -> float | None:
    deadline = state.effective_deadline_at
    return None if deadline is None else (deadline - START).total_seconds()


def test_time_in_which_everybody_waits_moves_the_deadline() -> None:
    log = waiting()
    assert (log.state().parked, deadline_of(log.state())) == (True, None)
    back = log.at(5 + 100).resumed().state()
    assert (back.parked, back.parked_seconds, deadline_of(back)) == (False, 100, 1_000)


def test_waiting_ends_when_the_answer_came_and_not_when_a_worker_saw_it() -> None:
    state = waiting().at(105).resumed().at(5_000).attempt().state()
    assert state.parked_seconds == 100


def test_work_beside_a_wait_is_no_waiting() -> None:
    log = acting(calls_of("pay", "look")).suspended(0)
    assert (log.state().parked, log.state().lanes[""].held) == (False, 1)
    assert log.at(10).refused(1).state().parked_since == START + timedelta(seconds=10)
    assert log.at(30).resumed(0).state().parked_seconds == 20


def test_a_clock_that_goes_back_counts_no_waiting() -> None:
    assert waiting().at(-500).resumed().state().parked_seconds == 0


def test_an_abort_or_the_end_closes_the_waiting() -> None:
    log = waiting().at(25).abort().at(45).tool_finished(outcome="aborted")
    assert (log.state().parked_seconds, log.state().waits) == (40, {})


def test_an_approved_call_that_begins_is_no_longer_held() -> None:
    log = waiting(calls_of("pay", "look")).suspended(1).resumed(0).tool_started(0)
    assert log.state().lanes[""].held == 1
    assert log.resumed(1, approved=False).refused(1).state().lanes[""].held == 0


def test_a_denied_and_an_expired_wait_are_no_longer_waited_for() -> None:
    assert not waiting().resumed(approved=False).state().open_waits
    expired = waiting().resumed(approved=None, cause="expired").state()
    assert expired.expired is not None
    assert (expired.open_waits, expired.parked) == ((), False)


# --- what is known of a Run ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("remember", "key"), [("tool", ("pay", None)), ("arguments", ("pay", "digest"))], ids=["any", "exact"]
)
def test_a_decision_is_remembered_for_the_tool_or_for_these_arguments(
    remember: str, key: tuple[str, str | None]
) -> None:
    log = waiting().resumed(remember=remember, resumed_by="ada")
    digest = acting().state().calls_of("")[0].arguments_digest
    tool, exact = key
    held = log.state().remembered[tool, digest if exact else None]
    assert (held.approved, held.by, held.arguments_digest) == (True, "ada", digest if exact else None)


def test_a_later_decision_replaces_an_earlier_one() -> None:
    log = waiting(calls_of("pay", "pay")).suspended(1)
    state = log.resumed(0, remember="tool").resumed(1, approved=False, remember="tool").state()
    assert [held.approved for held in state.remembered.values()] == [False]


def test_an_announced_call_holds_what_the_model_asked_for() -> None:
    call = acting().state().calls_of("")[0]
    assert (call.name, call.arguments, call.arguments_raw) == ("pay", {"n": 1}, '{"n":1}')
    wait = waiting().state().open_waits[0]
    assert (wait.arguments, wait.tool, wait.opened_seq) == ({"n": 1}, "pay", 6)


def test_a_started_call_holds_what_runs() -> None:
    log = waiting().resumed(arguments={"n": 9}, arguments_digest="9" * 64)
    call = log.tool_started(arguments={"n": 9}).state().calls_of("")[0]
    assert (call.arguments, call.arguments_digest, call.wait_id) == ({"n": 9}, "9" * 64, None)


def test_a_call_left_alone_makes_the_run_given_up() -> None:
    named = ToolFailure(kind=FailureKind.FORCE_SETTLED, message="left")
    assert started().tool_finished(outcome="unknown", failure=named).state().gave_up
    assert not started().tool_finished(outcome="error", failure=named).state().gave_up
    assert not started().tool_finished(outcome="unknown").state().gave_up


def test_what_can_be_read_on_is_found_by_its_handle() -> None:
    whole = started().tool_finished(0, [1], result_handle="res_1", result_bytes=3).state()
    call_id = next(iter(whole.handles.values())).call_id
    assert whole.handles == {"res_1": Handle(whole.head_seq, call_id, 3, None)}
    assert not facts_of(whole).blobs
    kept: Any = {"name": "a", "content_type": "a/b", "size_bytes": 9, "observed_bytes": 9}
    files = (
        ResultAttachment(handle="out_0", stored="preview_only", **kept),
        ResultAttachment(handle="out_1", stored="blob", **kept),
    )
    log = started().tool_finished(0, attachments=files)
    assert log.state().handles == {
        "out_1": Handle(log.state().head_seq, call_id, 9, blob_name(call_id, log.state().epoch, 1))
    }
    assert facts_of(log.state()).blobs


def test_a_run_has_blobs_from_the_first_record_on_that_names_one() -> None:
    away: Any = {"result_blob_key": "call.1", "result_content_type": "application/json"}
    log = started().tool_finished(0, result_handle="res_1", result_bytes=9, **away)
    assert log.state().handles["res_1"].blob_key == "call.1"
    assert facts_of(log.state()).blobs
    assert facts_of(log.turn().state()).blobs


def test_a_call_of_a_dead_attempt_dangles() -> None:
    assert not started().state().has_dangling_tool_calls
    assert started().attempt().state().has_dangling_tool_calls


def test_messages_are_pending_in_the_order_they_came() -> None:
    log = queued().enqueued("a").enqueued("b", queue="follow_up").enqueued("c")
    assert [entry.payload["message"] for entry in log.state().pending] == ["a", "b", "c"]
    consumed = log.attempt().turn().consumed().state()
    assert [entry.payload["message"] for entry in consumed.pending] == ["b", "c"]


def test_a_settled_run_holds_its_end_and_no_lane() -> None:
    state = asking().settled("failed").state()
    assert (state.lanes, state.phase, state.terminal_state) == ({}, "settled", "failed")
    assert state.settled is not None
    assert state.settled.failure is not None

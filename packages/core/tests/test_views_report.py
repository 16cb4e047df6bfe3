"""Everything that a log shows of a Run."""

from __future__ import annotations

from decimal import Decimal

import pytest

from packages.core.tests.stories import (
    DEADLINE,
    PRICE,
    PROMPT,
    USAGE,
    VERSION,
    Story,
    at,
    begun,
    digest,
    digest_of,
    erased,
    rich,
    view_of,
)
from psych_runtime_core.records.facts import QueueKind, TerminalState, ToolOutcome
from psych_runtime_core.usage import Cost, Usage
from psych_runtime_core.views.report import report_of
from psych_runtime_core.views.report_model import (
    AbortReport,
    FailureStreakTrip,
    PromptReport,
    QueueEntryReport,
    RunReport,
    SuspensionReport,
    TotalsReport,
)

NOTHING = Usage(input=0, output=0)


def report(log: Story) -> RunReport:
    return report_of(log.view, VERSION)


def totals(log: Story) -> TotalsReport:
    return report(log).totals


def test_a_run_is_reported_with_its_spec_its_times_and_its_end() -> None:
    log = begun().asks().wait(2).says("Done.").settled()
    found = report(log)
    assert (found.spec_name, found.spec_kind, found.version_hash) == ("clerk", "agent", VERSION.hash)
    assert (found.terminal_state, found.output, found.answer_seq) == (
        TerminalState.COMPLETED,
        {"text": "Done."},
        5,
    )
    assert (found.admitted_at, found.started_at, found.settled_at) == (at(0), at(1), at(3))
    assert (found.deadline_at, found.parked_seconds, found.failure) == (DEADLINE, 0.0, None)


def test_each_prompt_stands_once_and_the_last_is_the_run_s() -> None:
    found = report(rich())
    assert found.prompts == (
        PromptReport(digest("b"), PROMPT, 9),
        PromptReport(digest("f"), "Be quick.", 22),
    )
    assert found.system_prompt == PROMPT


def test_an_attempt_lasts_until_its_last_record() -> None:
    log = (
        begun()
        .asks()
        .wait(5)
        .attempt(reclaimed_expired_lease=True)
        .model_started()
        .wait(2)
        .says("Done.")
        .wait(9)
    )
    first, second = report(log.sends("qe_1", "hi")).attempts
    assert (first.worker_id, first.epoch, first.started_at, first.last_at) == ("worker-1", 1, at(1), at(1))
    assert (second.attempt_number, second.started_at, second.last_at) == (2, at(6), at(8))
    assert (first.reclaimed_expired_lease, second.reclaimed_expired_lease) == (False, True)


# --- model calls -----------------------------------------------------------------------------------------


def test_every_try_is_reported_also_those_that_failed_or_were_lost() -> None:
    failed, lost, finished, *_ = report(rich()).model_calls
    assert failed.failure is not None
    assert (failed.failure.kind, failed.will_retry, failed.lost, failed.text) == (
        "transient",
        True,
        False,
        None,
    )
    assert (lost.lost, lost.dangling, lost.finished_at, lost.timings, lost.usage) == (
        True,
        False,
        None,
        None,
        None,
    )
    assert (finished.try_number, finished.text, finished.usage, finished.cost) == (
        3,
        "I will pay.",
        USAGE,
        PRICE,
    )
    assert (finished.prompt_hash, finished.tool_names) == (digest("b"), ("pay",))
    assert len(finished.tool_call_ids) == 3


def test_tools_stand_by_their_hash_with_later_calls_too() -> None:
    assert report(rich()).model_calls[-1].tool_names == ("pay",)


def test_an_open_try_of_a_dead_attempt_dangles_and_is_not_yet_lost() -> None:
    log = begun().asks()
    assert [each.dangling for each in report(log).model_calls] == [False]
    (only,) = report(log.attempt()).model_calls
    assert (only.dangling, only.lost) == (True, False)
    assert [(each.dangling, each.lost) for each in report(log.model_started()).model_calls] == [
        (False, True),
        (False, False),
    ]


def test_a_try_cut_by_the_end_of_the_run_is_lost() -> None:
    found = report(begun().asks().abort().settled("aborted"))
    assert [each.lost for each in found.model_calls] == [True]
    assert found.totals.lost_model_calls == 1


# --- totals ----------------------------------------------------------------------------------------------

EURO = Cost(amount=Decimal("0.5"), currency="EUR", model="gpt")


def one(usage: Usage | None = USAGE, cost: Cost | None = PRICE) -> Story:
    return begun().asks().says("Almost.", usage=usage, cost=cost)


@pytest.mark.parametrize(
    ("log", "usage", "source"),
    [
        pytest.param(begun(), NOTHING, "none", id="no call was made"),
        pytest.param(begun().asks(), NOTHING, "none", id="the first is under way"),
        pytest.param(one(), USAGE, "provider", id="all reported"),
        pytest.param(one(usage=None), None, "unknown", id="none reported"),
        pytest.param(one(usage=None).asks().says("Done."), USAGE, "partial", id="one of two reported"),
        pytest.param(
            begun().asks().model_failed("auth", next="stop"), None, "unknown", id="a failed try said nothing"
        ),
        pytest.param(
            begun().asks().model_failed("empty_response", usage=USAGE),
            USAGE,
            "provider",
            id="a failed try that was paid for",
        ),
        pytest.param(
            begun().asks().attempt().model_started().says("Done."),
            USAGE,
            "partial",
            id="a lost try said nothing",
        ),
    ],
)
def test_unknown_usage_is_never_zero(log: Story, usage: Usage | None, source: str) -> None:
    found = totals(log)
    assert (found.usage, found.usage_source) == (usage, source)


@pytest.mark.parametrize(
    ("log", "cost", "costs", "incomplete"),
    [
        pytest.param(begun(), None, (), False, id="no call was made"),
        pytest.param(one(), PRICE, (PRICE,), False, id="one price"),
        pytest.param(one(cost=None), None, (), True, id="no price is known"),
        pytest.param(one(cost=None).asks().says("Done."), PRICE, (PRICE,), True, id="one of two is known"),
        pytest.param(
            one().asks().says("Done.", cost=EURO), None, (PRICE, EURO), False, id="two currencies are no sum"
        ),
        pytest.param(
            begun().asks().model_failed("auth", next="stop"), None, (), False, id="a failed try has no price"
        ),
        pytest.param(
            begun().asks().model_failed(begun=True).model_started().says("Done."),
            PRICE,
            (PRICE,),
            True,
            id="a try that broke off costs too",
        ),
        pytest.param(
            begun().asks().model_failed(begun=True, cost=PRICE, next="stop"),
            PRICE,
            (PRICE,),
            False,
            id="a try that broke off and said what it cost",
        ),
        pytest.param(
            begun().asks().attempt().model_started().says("Done."),
            PRICE,
            (PRICE,),
            True,
            id="a lost try costs too",
        ),
    ],
)
def test_an_unknown_cost_is_never_zero(
    log: Story, cost: Cost | None, costs: tuple[Cost, ...], incomplete: bool
) -> None:
    found = totals(log)
    assert (found.cost, found.costs, found.cost_is_incomplete) == (cost, costs, incomplete)


def test_totals_count_each_kind_of_call() -> None:
    found = totals(rich())
    assert (found.model_calls, found.failed_model_calls, found.lost_model_calls) == (5, 1, 1)
    assert (found.tool_calls, found.refused_calls) == (2, 3)
    assert (found.unreported_usage_calls, found.unpriced_model_calls, found.provider_reported_costs) == (
        3,
        1,
        0,
    )
    assert found.cost == Cost(amount=Decimal("0.08"), currency="USD", model="gpt")


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(begun(), id="no turn"),
        pytest.param(begun().asks().attempt().model_started(), id="a lost try"),
        pytest.param(rich(), id="a rich Run"),
    ],
)
def test_the_only_lane_has_the_sums_of_the_run(log: Story) -> None:
    (lane,), whole = report(log).lanes, totals(log)
    assert (lane.lane, lane.turns) == ("", len(log.view.turns))
    assert (lane.usage, lane.cost, lane.cost_is_incomplete) == (
        whole.usage,
        whole.cost,
        whole.cost_is_incomplete,
    )
    assert (lane.model_calls, lane.tool_calls) == (whole.model_calls, whole.tool_calls)


# --- calls and who allowed them --------------------------------------------------------------------------


def asked() -> Story:
    return begun().asks().says("", ("pay", {"to": "x"})).wait(1).suspended().wait(4)


def test_an_edited_approval_shows_both_digests_and_the_person() -> None:
    log = asked().resumed(arguments={"to": "z"}, remember="tool", resumed_by="boss").wait(1)
    log.tool_started().wait(1).tool_finished(0, 1, duration_seconds=1)
    found = report(log)
    assert found.suspensions == (
        SuspensionReport(
            wait_id=log.wait_of(),
            reason=log.view.waits[log.wait_of()].suspended.reason,
            lane="",
            call_id=log.call_of(),
            tool="pay",
            arguments_digest=digest_of({"to": "x"}),
            question="May pay run?",
            suspended_at=at(2),
            due_at=at(2 + 7 * 86_400),
            resumed_at=at(6),
            cause="answer",
            approved=True,
            arguments_edited=True,
            executed_digest=digest_of({"to": "z"}),
            payload={},
            remember="tool",
            resumed_by="boss",
        ),
    )
    (call,) = found.tool_calls
    assert (call.decision, call.wait_id, call.decided_by) == ("approved", log.wait_of(), "boss")
    assert (call.arguments, call.arguments_digest) == ({"to": "z"}, digest_of({"to": "z"}))
    assert (call.announced_at, call.started_at, call.finished_at) == (at(1), at(7), at(8))


def test_a_remembered_decision_names_the_wait_and_the_person_of_the_first() -> None:
    log = asked().resumed(remember="arguments", resumed_by="boss")
    first = log.wait_of()
    log.runs().asks().says("", ("pay", {"to": "x"}))
    call = report(log.tool_started(decision="remembered", wait_id=first)).tool_calls[1]
    assert (call.decision, call.wait_id, call.decided_by) == ("remembered", first, "boss")


@pytest.mark.parametrize(
    ("log", "approved", "cause", "by"),
    [
        pytest.param(asked(), None, None, None, id="open"),
        pytest.param(
            asked().resumed(approved=False, resumed_by="boss"), False, "answer", "boss", id="denied"
        ),
        pytest.param(asked().resumed(0, None, cause="expired"), None, "expired", None, id="expired"),
        pytest.param(asked().resumed(resumed_by="boss"), True, "answer", "boss", id="approved, not begun"),
    ],
)
def test_where_nothing_ran_there_is_no_executed_digest(
    log: Story, approved: bool | None, cause: str | None, by: str | None
) -> None:
    found = report(log)
    (wait,), (call,) = found.suspensions, found.tool_calls
    assert (wait.approved, wait.cause, wait.resumed_by) == (approved, cause, by)
    assert (wait.executed_digest, wait.arguments_edited) == (None, False)
    assert (call.decision, call.wait_id, call.decided_by) == (None, log.wait_of(), by)


def test_a_refused_call_says_what_it_asked_for_and_that_nothing_began() -> None:
    log = begun().asks().says("", ("pay", "oops")).refused(0, "malformed_arguments")
    (call,) = report(log).tool_calls
    assert (call.arguments, call.provider_id, call.started_at, call.run_number) == ("oops", "call-0", None, 0)
    assert (call.tool_class, call.interruptible, call.safe_to_retry, call.wait_id) == (None, None, None, None)
    assert call.failure is not None
    assert (call.outcome, call.failure.kind) == (ToolOutcome.REFUSED, "malformed_arguments")


def test_a_call_begun_again_shows_its_newest_start() -> None:
    log = begun().asks().says("", ("pay", {})).tool_started(safe_to_retry=True).wait(9).attempt()
    (dangling,) = report(log).tool_calls
    assert (dangling.dangling, dangling.run_number, dangling.outcome) == (True, 1, None)
    (again,) = report(log.tool_started(safe_to_retry=True)).tool_calls
    assert (again.dangling, again.run_number, again.started_at) == (False, 2, at(10))


def test_a_withheld_tool_is_a_trip() -> None:
    log = begun()
    for _ in range(3):
        log.asks().says("", ("pay", {})).tool_started().tool_finished(outcome="error")
    log.asks().wait(1).says("", ("pay", {})).refused(0, "failure_streak")
    (trip,) = report(log).failure_streak_trips
    assert trip == FailureStreakTrip("", "pay", log.call_of(), streak=3, threshold=3, at=at(2))


# --- what came from outside ------------------------------------------------------------------------------


def test_messages_are_reported_read_or_not() -> None:
    log = begun().sends("qe_1", "a").sends("qe_1", "b").sends("qe_2", "c", "follow_up").wait(1)
    assert report(log.asks("qe_1")).queue == (
        QueueEntryReport("qe_1", QueueKind.STEER, {"message": "a"}, "ann", at(1), at(2)),
        QueueEntryReport("qe_2", QueueKind.FOLLOW_UP, {"message": "c"}, "ann", at(1), None),
    )


def test_every_request_to_stop_is_reported() -> None:
    log = begun().abort("too slow", requested_by="bob").wait(1).abort("now", requested_by="bob")
    assert report(log).aborts == (
        AbortReport(3, at(1), "too slow", "bob"),
        AbortReport(4, at(2), "now", "bob"),
    )


def test_an_erased_log_keeps_its_evidence_its_counts_and_its_costs() -> None:
    plain, gone = report(rich()), report_of(view_of(erased(rich())), VERSION)
    assert gone.totals == plain.totals
    assert [(each.arguments_digest, each.decided_by, each.outcome) for each in gone.tool_calls] == [
        (each.arguments_digest, each.decided_by, each.outcome) for each in plain.tool_calls
    ]
    assert [(each.approved, each.arguments_edited, each.executed_digest) for each in gone.suspensions] == [
        (True, True, digest_of({"to": "z"})),
        (False, False, None),
    ]
    assert {each.text for each in gone.prompts} == {None}
    assert {str(each.arguments) for each in gone.tool_calls} == {"None"}

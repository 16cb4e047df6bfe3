"""Where a Run stands."""

from __future__ import annotations

import pytest

from packages.core.tests.stories import (
    DEADLINE,
    RUN,
    USAGE,
    VERSION,
    Story,
    at,
    because,
    begun,
    digest_of,
    erased,
    rich,
    view_of,
)
from psych_runtime_core.ids import WorkerId
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.ports.runs import Lifecycle
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_core.scope import Scope
from psych_runtime_core.usage import Usage
from psych_runtime_core.views.status import PendingApproval, status_of


def waiting() -> Story:
    log = begun().asks().says("", ("pay", {"to": "x"}), ("pay", {"to": "y"}))
    return log.wait(4).suspended(1).suspended(0)


def test_a_queued_run_has_used_nothing_and_costs_nobody_knows_what() -> None:
    status = status_of(Story().admitted().view)
    assert (status.run_id, status.version_hash) == (RUN, VERSION.hash)
    assert status.scope == Scope(tenant="acme", principal="ann")
    assert (status.turn, status.attempt_count, status.current_attempt, status.worker_id) == (0, 0, None, None)
    assert (status.usage, status.cost, status.cost_is_incomplete) == (Usage(input=0, output=0), None, False)
    assert (status.admitted_at, status.started_at, status.updated_at, status.settled_at) == (
        at(0),
        None,
        at(0),
        None,
    )
    assert status.deadline_at == DEADLINE


def test_a_log_without_records_has_a_status() -> None:
    status = status_of(Story().view)
    assert (status.lifecycle, status.head_seq, status.admitted_at) == (Lifecycle.QUEUED, 0, None)


def test_a_run_at_work_shows_who_drives_it_and_how_far_it_is() -> None:
    log = begun().asks().says("", ("pay", {})).runs().asks().attempt().sends("qe_1", "hi")
    status = status_of(log.view)
    assert (status.turn, status.model_calls, status.tool_calls) == (2, 1, 1)
    assert (status.attempt_count, status.current_attempt, status.worker_id) == (2, 2, WorkerId("worker-1"))
    assert (status.usage, status.pending_messages) == (USAGE, 1)
    assert (status.started_at, status.head_seq) == (at(1), len(log.records))


def test_a_call_of_a_dead_attempt_is_dangling_until_its_end_is_known() -> None:
    log = begun().asks().says("", ("pay", {})).tool_started()
    assert not status_of(log.view).has_dangling_tool_calls
    assert status_of(log.attempt().view).has_dangling_tool_calls
    assert not status_of(log.tool_finished(outcome="unknown").view).has_dangling_tool_calls


def test_pending_approvals_show_what_would_run_oldest_first() -> None:
    log = waiting()
    status = status_of(log.view)
    assert status.pending_approval == PendingApproval(
        wait_id=log.wait_of(1),
        call_id=log.call_of(1),
        lane="",
        tool="pay",
        tool_class=ToolClass.DESTRUCTIVE,
        arguments={"to": "y"},
        arguments_digest=digest_of({"to": "y"}),
        question="May pay run?",
        expires_at=at(5 + 7 * 86_400),
    )
    assert [each.arguments for each in status.pending_approvals] == [{"to": "y"}, {"to": "x"}]


def test_an_answered_wait_is_pending_no_more() -> None:
    log = waiting().resumed(1)
    assert [each.wait_id for each in status_of(log.view).pending_approvals] == [log.wait_of(0)]


def test_nothing_is_pending_once_the_run_stops() -> None:
    assert status_of(waiting().abort().view).pending_approvals == ()


def test_the_deadline_rests_while_everything_waits_and_moves_by_that_time() -> None:
    log = waiting().wait(20)
    parked = status_of(log.sends("qe_1", "hi").view)
    assert (parked.parked, parked.deadline_at, parked.parked_seconds) == (True, None, 0.0)
    answered = status_of(log.wait(10).resumed(0, approved=False).view)
    assert (answered.parked, answered.parked_seconds) == (False, 30.0)
    assert answered.deadline_at == at(900 + 30)


@pytest.mark.parametrize(
    ("log", "state", "kind"),
    [
        pytest.param(
            begun().settled("failed", failure=because("auth")), TerminalState.FAILED, "auth", id="failed"
        ),
        pytest.param(begun().abort().settled("aborted"), TerminalState.ABORTED, None, id="aborted"),
    ],
)
def test_an_end_says_why(log: Story, state: TerminalState, kind: str | None) -> None:
    status = status_of(log.view)
    assert (status.terminal_state, status.failure_kind) == (state, kind)
    assert status.failure_message == (f"because of {kind}" if kind else None)
    assert status.settled_at == status.updated_at == log.records[-1].at


def test_a_settled_run_keeps_its_figures() -> None:
    status = status_of(rich().view)
    assert (status.output, status.turn, status.pending_messages) == ({"text": "Done."}, 5, 0)
    assert (status.model_calls, status.tool_calls, status.attempt_count) == (5, 2, 3)


def test_a_message_counts_until_a_turn_reads_it() -> None:
    log = begun().sends("qe_1", "a").sends("qe_2", "b", "follow_up").sends("qe_1", "again")
    assert status_of(log.view).pending_messages == 2
    assert status_of(log.asks("qe_1").view).pending_messages == 1


def test_erased_arguments_are_unknown_and_their_digest_stays() -> None:
    pending = status_of(view_of(erased(waiting()))).pending_approval
    assert pending is not None
    assert (pending.arguments, pending.question, pending.tool) == (None, "", "pay")
    assert pending.arguments_digest == digest_of({"to": "y"})

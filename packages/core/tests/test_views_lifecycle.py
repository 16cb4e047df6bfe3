"""A Run's life in one word."""

from __future__ import annotations

import pytest

from packages.core.tests.stories import Story, because, begun
from psych_runtime_core.ports.runs import SETTLED_LIFECYCLE, Lifecycle
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_core.views.lifecycle import lifecycle_of


def waiting() -> Story:
    return begun().asks().says("", ("pay", {}), ("pay", {})).suspended(0).suspended(1)


CASES = [
    pytest.param(Story(), Lifecycle.QUEUED, id="nothing is recorded"),
    pytest.param(Story().admitted(), Lifecycle.QUEUED, id="nobody has claimed it"),
    pytest.param(Story().admitted().sends("qe_1", "hi"), Lifecycle.QUEUED, id="a message claims nothing"),
    pytest.param(begun(), Lifecycle.RUNNING, id="a Worker drives it"),
    pytest.param(begun().asks().says("Done."), Lifecycle.RUNNING, id="an answer is not yet an end"),
    pytest.param(waiting(), Lifecycle.WAITING, id="every call waits for a person"),
    pytest.param(waiting().attempt(), Lifecycle.WAITING, id="a claim answers nothing"),
    pytest.param(waiting().resumed(0, approved=True), Lifecycle.RUNNING, id="one of two is answered"),
    pytest.param(
        begun().asks().says("", ("pay", {}), ("pay", {})).suspended(0).tool_started(1),
        Lifecycle.RUNNING,
        id="work goes on beside a Wait",
    ),
    pytest.param(Story().admitted().abort(), Lifecycle.STOPPING, id="aborted before its first Attempt"),
    pytest.param(begun().abort(), Lifecycle.STOPPING, id="aborted while it runs"),
    pytest.param(waiting().abort(), Lifecycle.STOPPING, id="aborted while it waits"),
    pytest.param(begun().asks().says("Done.").settled(), Lifecycle.DONE, id="completed"),
    pytest.param(begun().settled("failed", failure=because("auth")), Lifecycle.FAILED, id="failed"),
    pytest.param(begun().abort().settled("aborted"), Lifecycle.STOPPED, id="aborted"),
    pytest.param(
        begun().settled("aborted", failure=because("deadline")), Lifecycle.STOPPED, id="past its deadline"
    ),
    pytest.param(
        waiting()
        .resumed(0, None, cause="expired")
        .tool_finished(outcome="aborted")
        .tool_finished(1, outcome="aborted")
        .settled("abandoned", failure=because("suspension_expired")),
        Lifecycle.STOPPED,
        id="abandoned",
    ),
    pytest.param(
        begun().abort().settled("force_settled", failure=because("force_settled")),
        Lifecycle.STOPPED,
        id="force-settled",
    ),
]


@pytest.mark.parametrize(("log", "lifecycle"), CASES)
def test_a_log_shows_the_lifecycle(log: Story, lifecycle: Lifecycle) -> None:
    assert lifecycle_of(log.view.state) is lifecycle


def test_every_end_has_a_lifecycle() -> None:
    assert set(SETTLED_LIFECYCLE) == set(TerminalState)

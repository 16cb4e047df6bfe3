"""A Run's life in one word, from its log and from its header alone."""

from __future__ import annotations

import pytest

from packages.core.tests.view_logs import RUN, VERSION, Log, at, begun
from psych_runtime_core.ports.store import RunHeader
from psych_runtime_core.records import Head
from psych_runtime_core.records.facts import TerminalState, ToolOutcome
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.fold import facts_of
from psych_runtime_core.views.lifecycle import SETTLED_LIFECYCLE, Lifecycle, lifecycle_of, lifecycle_of_header


def waiting() -> Log:
    return begun().asks().says("", ("pay", {}), ("pay", {})).suspends(0).suspends(1)


CASES = [
    pytest.param(Log(), Lifecycle.QUEUED, id="nothing is recorded"),
    pytest.param(Log().admitted(), Lifecycle.QUEUED, id="nobody has claimed it"),
    pytest.param(Log().admitted().sends("qe_1", "hi"), Lifecycle.QUEUED, id="a message claims nothing"),
    pytest.param(begun(), Lifecycle.RUNNING, id="a Worker drives it"),
    pytest.param(begun().asks().says("Done."), Lifecycle.RUNNING, id="an answer is not yet an end"),
    pytest.param(waiting(), Lifecycle.WAITING, id="every call waits for a person"),
    pytest.param(waiting().attempt(), Lifecycle.WAITING, id="a claim answers nothing"),
    pytest.param(waiting().decides(0, approved=True), Lifecycle.RUNNING, id="one of two is answered"),
    pytest.param(
        begun().asks().says("", ("pay", {}), ("pay", {})).suspends(0).starts(1),
        Lifecycle.RUNNING,
        id="work goes on beside a Wait",
    ),
    pytest.param(Log().admitted().aborted(), Lifecycle.STOPPING, id="aborted before its first Attempt"),
    pytest.param(begun().aborted(), Lifecycle.STOPPING, id="aborted while it runs"),
    pytest.param(waiting().aborted(), Lifecycle.STOPPING, id="aborted while it waits"),
    pytest.param(begun().asks().says("Done.").completed({"text": "Done."}), Lifecycle.DONE, id="completed"),
    pytest.param(begun().settled(TerminalState.FAILED, "auth"), Lifecycle.FAILED, id="failed"),
    pytest.param(begun().aborted().settled(TerminalState.ABORTED), Lifecycle.STOPPED, id="aborted"),
    pytest.param(
        begun().settled(TerminalState.ABORTED, "deadline"), Lifecycle.STOPPED, id="past its deadline"
    ),
    pytest.param(
        waiting()
        .expires(0)
        .ends(0, ToolOutcome.ABORTED)
        .ends(1, ToolOutcome.ABORTED)
        .settled(TerminalState.ABANDONED, "suspension_expired"),
        Lifecycle.STOPPED,
        id="abandoned",
    ),
    pytest.param(
        begun().aborted().settled(TerminalState.FORCE_SETTLED, "force_settled"),
        Lifecycle.STOPPED,
        id="force-settled",
    ),
]


@pytest.mark.parametrize(("log", "lifecycle"), CASES)
def test_a_log_shows_the_lifecycle(log: Log, lifecycle: Lifecycle) -> None:
    assert lifecycle_of(log.view.state) is lifecycle


@pytest.mark.parametrize(("log", "lifecycle"), CASES)
def test_a_header_alone_shows_the_same(log: Log, lifecycle: Lifecycle) -> None:
    state = log.view.state
    facts = facts_of(state)
    header = RunHeader(
        run_id=RUN,
        scope=Scope(tenant="acme"),
        name="clerk",
        request=bytes(32),
        root_run_id=RUN,
        created_at=at(0),
        terminal=state.terminal_state,
        head=Head(state.head_seq, bytes(32)),
        version_hash=VERSION.hash,
        parked=facts.parked,
        stopping=facts.stopping,
        attempt_count=facts.attempt_count,
    )
    assert lifecycle_of_header(header) is lifecycle


def test_every_end_has_a_lifecycle() -> None:
    assert set(SETTLED_LIFECYCLE) == set(TerminalState)

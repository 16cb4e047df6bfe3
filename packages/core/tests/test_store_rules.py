"""What every store decides alike of a query, and of an idempotency key."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import OTHER_REQUEST, OTHER_RUN, REQUEST, RUN, admission
from psych_runtime_core.errors import IdempotencyConflict
from psych_runtime_core.ports.keys import Known, judge_key, request_under
from psych_runtime_core.ports.queries import RunQuery, open_states
from psych_runtime_core.ports.runs import OPEN_STATES, Lifecycle, RunState

RUNNABLE, RUNNING, SETTLED = RunState.RUNNABLE, RunState.RUNNING, RunState.SETTLED
QUEUED, DONE = Lifecycle.QUEUED, Lifecycle.DONE


@pytest.mark.parametrize(
    ("query", "states"),
    [
        pytest.param(RunQuery(), (), id="all"),
        pytest.param(RunQuery(states=frozenset({RUNNING, RUNNABLE})), (RUNNABLE, RUNNING), id="open ones"),
        pytest.param(RunQuery(states=frozenset({RUNNING, SETTLED})), (), id="settled ones, too"),
        pytest.param(RunQuery(lifecycles=frozenset({QUEUED})), OPEN_STATES, id="of open lives"),
        pytest.param(RunQuery(lifecycles=frozenset({QUEUED, DONE})), (), id="of lives that are over, too"),
        pytest.param(
            RunQuery(states=frozenset({RUNNING}), lifecycles=frozenset({DONE})), (RUNNING,), id="states first"
        ),
    ],
)
def test_of_a_query_it_is_known_whether_it_is_about_open_runs_alone(
    query: RunQuery, states: Sequence[RunState]
) -> None:
    assert tuple(open_states(query)) == tuple(states)


KNOWN = Known(RUN, request_under("order", REQUEST))
DATED = Known(RUN, request_under("order", REQUEST), START)


@pytest.mark.parametrize(
    ("key", "known", "seconds", "answer"),
    [
        pytest.param(None, None, 0, None, id="no key"),
        pytest.param("order", None, 0, None, id="a new key"),
        pytest.param("order", KNOWN, 10**9, RUN, id="of a Run that is there"),
        pytest.param("order", DATED, -1, RUN, id="of a Run that is gone"),
        pytest.param("order", DATED, 0, None, id="whose time is over"),
    ],
)
def test_a_key_answers_with_its_run_for_its_time(
    key: str | None, known: Known | None, seconds: float, answer: str | None
) -> None:
    header = admission(OTHER_RUN, idempotency_key=key, request=REQUEST).header
    assert judge_key(header, known, START + timedelta(seconds=seconds)) == answer


def test_a_key_that_was_used_for_another_request_conflicts_with_its_run() -> None:
    header = admission(OTHER_RUN, idempotency_key="order", request=OTHER_REQUEST).header
    with pytest.raises(IdempotencyConflict) as caught:
        judge_key(header, KNOWN, START)
    assert (caught.value.key, caught.value.run_id, caught.value.field) == ("order", RUN, "request")
    assert judge_key(header, DATED, START) is None, "what is over conflicts with nothing"

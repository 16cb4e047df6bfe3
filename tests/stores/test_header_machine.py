"""The header's transitions, as values: which operation is allowed when, and what it leaves."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from psych_runtime.testing.clock import START
from psych_runtime_contract.store.scenes import OTHER_WORKER, RUN, WORKER, admission
from psych_runtime_core.ports.header import TRANSITIONS, Move, Operation
from psych_runtime_core.ports.runs import Lease, RunHeader, RunState
from psych_runtime_core.records.facts import TerminalState

NOW = START + timedelta(seconds=100)
BEFORE, AFTER = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)


def leased(end: datetime) -> RunHeader:
    return header(ready_at=end, lease=Lease(RUN, WORKER, 2, end), epoch=2)


def header(**fields: object) -> RunHeader:
    return admission().header.model_copy(update={"ready_at": None, **fields})


CONDITIONS = {
    "ready": header(ready_at=BEFORE),
    "due now": header(ready_at=NOW),
    "later": header(ready_at=AFTER),
    "asleep": header(parked=True),
    "leased": leased(AFTER),
    "expired": leased(BEFORE),
    "expires now": leased(NOW),
    "settled": header(terminal=TerminalState.COMPLETED, settled_at=BEFORE, epoch=2),
}
HELD = leased(AFTER).lease
OWN = Lease(RUN, WORKER, 2, NOW + timedelta(seconds=30))
END = OWN.expires_at
LEASES = {
    "no lease": None,
    "its lease": OWN,
    "an older lease": replace(OWN, epoch=1),
    "a newer lease": replace(OWN, epoch=3),
    "another worker's": replace(OWN, worker_id=OTHER_WORKER),
}
UNSETTLED = CONDITIONS.keys() - {"settled"}
DUE = {"ready", "due now", "expired", "expires now"}
ALLOWED = {
    # A claim is judged by the Run alone: the lease it names does not stand yet.
    **{(Operation.CLAIM, lease): DUE for lease in LEASES},
    (Operation.RENEW, "its lease"): {"leased"},
    (Operation.RELEASE, "its lease"): {"leased"},
    (Operation.REST, "its lease"): {"leased"},
    (Operation.SETTLE, "its lease"): {"leased"},
    (Operation.KEEP, "its lease"): {"leased"},
    (Operation.KEEP, "no lease"): UNSETTLED,
    (Operation.WAKE, "no lease"): UNSETTLED,
}


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("lease", LEASES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_operation_is_allowed_in_the_listed_cases_and_no_other(
    operation: Operation, lease: str, condition: str
) -> None:
    move = Move(CONDITIONS[condition], NOW, LEASES[lease])
    expected = condition in ALLOWED.get((operation, lease), set[str]())
    assert TRANSITIONS[operation].allowed(move) is expected


@pytest.mark.parametrize(
    ("operation", "condition", "given", "ready_at", "lease"),
    [
        pytest.param(Operation.CLAIM, "ready", None, END, OWN, id="a claim is over at its end"),
        pytest.param(Operation.RENEW, "leased", None, END, OWN, id="a renewal moves that end"),
        pytest.param(Operation.KEEP, "later", None, AFTER, None, id="growth alone moves nothing"),
        pytest.param(Operation.KEEP, "leased", None, AFTER, HELD, id="nor under a lease"),
        pytest.param(Operation.WAKE, "asleep", None, NOW, None, id="a wake is for now"),
        pytest.param(Operation.WAKE, "later", None, NOW, None, id="a wake does not wait for a timer"),
        pytest.param(Operation.WAKE, "ready", None, BEFORE, None, id="a wake costs nobody its place"),
        pytest.param(Operation.WAKE, "leased", None, AFTER, HELD, id="a holder is not disturbed"),
        pytest.param(Operation.REST, "leased", None, None, None, id="a rest until woken"),
        pytest.param(Operation.REST, "leased", AFTER, AFTER, None, id="a rest until later"),
        pytest.param(Operation.REST, "leased", BEFORE, NOW, None, id="a rest until the past ends now"),
        pytest.param(Operation.RELEASE, "leased", None, None, None, id="a release until woken"),
        pytest.param(Operation.RELEASE, "leased", BEFORE, NOW, None, id="a release until the past ends now"),
        pytest.param(Operation.SETTLE, "leased", None, None, None, id="nobody looks at a settled Run"),
    ],
)
def test_what_an_operation_leaves(
    operation: Operation,
    condition: str,
    given: datetime | None,
    ready_at: datetime | None,
    lease: Lease | None,
) -> None:
    move = Move(CONDITIONS[condition], NOW, OWN, given)
    row = TRANSITIONS[operation]
    assert (row.ready_at(move), row.lease(move)) == (ready_at, lease)


@pytest.mark.parametrize(
    ("condition", "state"),
    [
        ("ready", RunState.RUNNABLE),
        ("later", RunState.RUNNABLE),
        ("asleep", RunState.SUSPENDED),
        ("leased", RunState.RUNNING),
        ("expired", RunState.RUNNING),
        ("settled", RunState.SETTLED),
    ],
)
def test_what_a_run_is(condition: str, state: RunState) -> None:
    assert CONDITIONS[condition].state is state


def test_a_parked_run_that_is_claimed_runs() -> None:
    assert leased(AFTER).model_copy(update={"parked": True}).state is RunState.RUNNING

"""Which record may follow in which phase, of a Run and of a lane, cell by cell."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packages.core.tests.logs import (
    acting,
    answered,
    asking,
    calling,
    failed,
    queued,
    ready,
    settled,
    started,
    stopping,
    waiting,
)
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.errors import CorruptionReason as Reason
from psych_runtime_core.records.record import RECORD_CLASSES
from psych_runtime_core.state.check import check
from psych_runtime_core.state.fold import fold

Log = Callable[[], LogBuilder]
Verb = Callable[[LogBuilder], LogBuilder]


def verdict(log: LogBuilder, verb: Verb) -> Reason | None:
    """What `check` says of the record that `verb` would append."""
    records = verb(log.unchecked()).records
    state = fold(records[:-1], run_id=log.run_id)
    breach = check(state, records[-1])
    return breach.reason if breach else None


OK = None
TWICE, NEW, AFTER, STALE, ABORTED = (
    Reason.ADMITTED_TWICE,
    Reason.NOT_ADMITTED,
    Reason.RECORD_AFTER_FINISH,
    Reason.STALE_EPOCH,
    Reason.AFTER_ABORT,
)

# --- the Run -----------------------------------------------------------------------------------------------

# Each record with the log in which it is the next one, and what the phases new, queued, open, stopping and
# settled say of it.
RUN_ROWS: dict[str, tuple[Log, Verb, tuple[Reason | None, ...]]] = {
    "run_admitted": (ready, lambda log: log.admitted(), (OK, TWICE, TWICE, TWICE, AFTER)),
    "attempt_started": (ready, lambda log: log.attempt(), (NEW, OK, OK, OK, AFTER)),
    "abort_requested": (ready, lambda log: log.abort(), (NEW, OK, OK, OK, AFTER)),
    "queue_enqueued": (ready, lambda log: log.enqueued(), (NEW, OK, OK, ABORTED, AFTER)),
    "resumed": (waiting, lambda log: log.resumed(), (NEW, Reason.WAIT_NOT_OPEN, OK, ABORTED, AFTER)),
    "turn_started": (ready, lambda log: log.turn(), (NEW, STALE, OK, ABORTED, AFTER)),
    "queue_consumed": (
        lambda: ready().enqueued().turn(),
        lambda log: log.consumed(),
        (NEW, STALE, OK, ABORTED, AFTER),
    ),
    "model_call_started": (asking, lambda log: log.model_started(), (NEW, STALE, OK, ABORTED, AFTER)),
    "tool_call_started": (acting, lambda log: log.tool_started(), (NEW, STALE, OK, ABORTED, AFTER)),
    "suspended": (acting, lambda log: log.suspended(), (NEW, STALE, OK, ABORTED, AFTER)),
    "run_settled completed": (
        answered,
        lambda log: log.settled("completed"),
        (NEW, STALE, OK, ABORTED, AFTER),
    ),
    "model_call_finished": (calling, lambda log: log.model_finished(), (NEW, STALE, OK, OK, AFTER)),
    "model_call_failed": (calling, lambda log: log.model_failed(), (NEW, STALE, OK, OK, AFTER)),
    "tool_call_finished": (started, lambda log: log.tool_finished(), (NEW, STALE, OK, OK, AFTER)),
    "run_settled failed": (ready, lambda log: log.settled("failed"), (NEW, STALE, OK, OK, AFTER)),
    "run_settled aborted": (ready, lambda log: log.settled("aborted"), (NEW, STALE, OK, OK, AFTER)),
    "run_settled abandoned": (ready, lambda log: log.settled("abandoned"), (NEW, STALE, OK, OK, AFTER)),
    "run_settled forced": (ready, lambda log: log.settled("force_settled"), (NEW, STALE, OK, OK, AFTER)),
}
PHASES = ("new", "queued", "open", "stopping", "settled")


def standing(phase: str, prepared: Log) -> LogBuilder:
    """A log in `phase`; open and stopping ones stand where the record would be next."""
    logs: dict[str, Log] = {
        "new": LogBuilder,
        "queued": queued,
        "open": prepared,
        "stopping": lambda: prepared().abort(),
        "settled": settled,
    }
    return logs[phase]()


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("row", RUN_ROWS)
def test_the_phase_of_a_run_allows_or_names_the_reason(row: str, phase: str) -> None:
    prepared, verb, cells = RUN_ROWS[row]
    log = standing(phase, prepared)
    assert log.state().phase == phase
    assert verdict(log, verb) is cells[PHASES.index(phase)]


def test_every_record_has_its_row() -> None:
    assert {row.partition(" ")[0] for row in RUN_ROWS} == set(RECORD_CLASSES)


# --- the lane ----------------------------------------------------------------------------------------------

LANES: dict[str, Log] = {
    "ready": ready,
    "asking": asking,
    "calling": calling,
    "acting": acting,
    "answered": answered,
    "failed": failed,
}
LANE_ROWS: dict[str, tuple[Verb, set[str]]] = {
    "turn_started": (lambda log: log.turn(), {"ready", "answered"}),
    "queue_consumed": (lambda log: log.enqueued().consumed(), {"asking"}),
    "model_call_started": (lambda log: log.model_started(), {"asking"}),
    "model_call_started by a newer epoch": (lambda log: log.attempt().model_started(), {"asking", "calling"}),
    "model_call_finished": (lambda log: log.model_finished("text"), {"calling"}),
    "model_call_failed": (lambda log: log.model_failed(), {"calling"}),
    "tool_call_started": (lambda log: log.tool_started(), {"acting"}),
    "tool_call_finished": (lambda log: log.refused(), {"acting"}),
    "suspended": (lambda log: log.suspended(), {"acting"}),
    "run_settled": (lambda log: log.settled("aborted"), set(LANES) - {"acting"}),
}


@pytest.mark.parametrize("phase", LANES)
@pytest.mark.parametrize("row", LANE_ROWS)
def test_the_phase_of_a_lane_allows_or_names_the_reason(row: str, phase: str) -> None:
    verb, allowed = LANE_ROWS[row]
    otherwise = Reason.OPEN_WORK if row == "run_settled" else Reason.WRONG_PHASE
    log = LANES[phase]()
    assert log.state().lanes[""].phase == phase
    assert verdict(log, verb) is (None if phase in allowed else otherwise)


def test_a_message_is_read_before_the_model_is_first_called_only() -> None:
    log = asking().enqueued().model_started().model_failed()
    assert log.state().lanes[""].phase == "asking"
    assert verdict(log, lambda log: log.consumed()) is Reason.WRONG_PHASE


# --- which reason comes first ------------------------------------------------------------------------------


FIRST: dict[str, tuple[Log, Verb, Reason]] = {
    "log before end": (settled, lambda log: log.turn(run_id="run_x"), Reason.WRONG_LOG),
    "end before epoch": (settled, lambda log: log.turn(epoch=9, lane="x"), AFTER),
    "epoch before lane": (ready, lambda log: log.turn(epoch=9, lane="x"), STALE),
    "epoch before abort": (stopping, lambda log: log.turn(epoch=9), STALE),
    "lane before phase": (ready, lambda log: log.tool_started(lane="x"), Reason.LANE_NOT_OPEN),
    "phase before number": (asking, lambda log: log.turn(turn=9), Reason.WRONG_PHASE),
}


@pytest.mark.parametrize(("log", "verb", "reason"), FIRST.values(), ids=FIRST)
def test_the_first_rule_that_is_broken_names_the_reason(log: Log, verb: Verb, reason: Reason) -> None:
    assert verdict(log(), verb) is reason

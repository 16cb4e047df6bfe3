"""A log that ends anywhere is taken up by the next Attempt, which does nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

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
    settled,
    started,
    turns,
    waiting,
)
from packages.core.tests.plans import plans
from psych_runtime.testing.clock import START
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.engine.effects import Append, Effect, Park, RunTool, Settle
from psych_runtime_core.records.record import RECORD_CLASSES

NOW = START + timedelta(seconds=100)
PLANS = plans()
TWO = calls_of("pay", "look")


def said(effect: Effect) -> str:
    """An effect in words: what it appends, or what it does."""
    match effect:
        case Append(records):
            return " ".join(str(getattr(record, "outcome", record.type)) for record in records)
        case RunTool(mode=mode):
            return mode
        case Settle(record):
            return record.state.value
        case Park():
            return "park"
        case _:
            return "model"


def taken_up(log: LogBuilder) -> list[str]:
    """What a new Attempt does with a log that ends here."""
    return [said(effect) for effect in next_effects(PLANS, log.attempt().state(), NOW)]


OPENS = "turn_started model_call_started"
CUTS: dict[str, tuple[Callable[[], LogBuilder], list[str]]] = {
    "run_admitted": (queued, [OPENS]),
    "attempt_started": (ready, [OPENS]),
    "turn_started": (asking, ["model_call_started"]),
    "queue_consumed": (lambda: asking().enqueued().consumed(), ["model_call_started"]),
    "model_call_started": (calling, ["model_call_started"]),
    "model_call_failed, tried again": (lambda: calling().model_failed(), ["model_call_started"]),
    "model_call_failed, tried again later": (
        lambda: calling().model_failed(retry_at=NOW + timedelta(seconds=1)),
        ["park"],
    ),
    "model_call_failed, for good": (failed, ["failed"]),
    "model_call_finished with calls": (lambda: acting(TWO), ["begin", "begin", "park"]),
    "suspended": (waiting, ["park"]),
    "suspended, one of two": (lambda: acting(TWO).suspended(0), ["begin", "park"]),
    "resumed, yes": (lambda: waiting().resumed(), ["begin", "park"]),
    "resumed, no": (lambda: waiting().resumed(approved=False), ["refused"]),
    "resumed, expired": (lambda: waiting().resumed(approved=None, cause="expired"), ["aborted"]),
    "tool_call_started": (started, ["unknown"]),
    "tool_call_started, safe to retry": (lambda: started(safe_to_retry=True), ["begin", "park"]),
    "tool_call_started, with a probe": (lambda: started(probe=True), ["probe", "park"]),
    "tool_call_started, approved": (lambda: waiting().resumed().tool_started(), ["unknown"]),
    "tool_call_started, one of two": (lambda: acting(TWO).tool_started(0), ["unknown"]),
    "tool_call_finished, one of two": (
        lambda: acting(TWO).tool_started(0).tool_started(1, safe_to_retry=True).tool_finished(0),
        ["begin", "park"],
    ),
    "tool_call_finished, the last": (lambda: turns(ready(), ["ok"]), [OPENS]),
    "the answer": (answered, ["completed"]),
    "queue_enqueued behind the answer": (
        lambda: answered().enqueued(),
        ["turn_started queue_consumed model_call_started"],
    ),
    "abort_requested": (lambda: calling().abort(), ["aborted"]),
    "abort_requested over calls": (
        lambda: acting(TWO).tool_started(0, safe_to_retry=True).abort(),
        ["unknown aborted"],
    ),
}


@pytest.mark.parametrize(("log", "does"), CUTS.values(), ids=CUTS)
def test_a_log_that_ends_behind(log: Callable[[], LogBuilder], does: list[str]) -> None:
    assert taken_up(log()) == does


def test_a_settled_log_is_taken_up_by_nobody() -> None:
    assert next_effects(PLANS, settled().state(), NOW) == ()


def test_every_record_type_has_its_cut() -> None:
    assert {log().records[-1].type for log, _ in CUTS.values()} == set(RECORD_CLASSES) - {"run_settled"}

"""The fold for readers, and views of it at any prefix."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from packages.core.tests.stories import RUN, VERSION, begun, erased, rich, view_of
from psych_runtime_core.errors import CorruptLog
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import ResultAttachment
from psych_runtime_core.records.turn import TurnStarted
from psych_runtime_core.state.fold import fold
from psych_runtime_core.views.answer import answer_of
from psych_runtime_core.views.json import as_json
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.report import report_of
from psych_runtime_core.views.status import status_of
from psych_runtime_core.views.thread import thread_of

STOPPED = (
    begun()
    .asks()
    .says("", ("pay", {}), ("pay", {}))
    .suspended(0)
    .tool_started(1)
    .sends("qe_1", "\ud800", "follow_up")
    .abort()
    .attempt()
    .tool_finished(outcome="aborted")
    .tool_finished(1, outcome="unknown")
    .settled("aborted")
)
LOGS = [
    pytest.param(rich().records, id="rich"),
    pytest.param(erased(rich()), id="erased"),
    pytest.param(STOPPED.records, id="stopped"),
    pytest.param(begun().asks().abort().settled("aborted").records, id="cut off"),
]


def views(projection: RunProjection) -> list[Any]:
    return [
        status_of(projection),
        answer_of(projection),
        thread_of([projection]),
        report_of(projection, VERSION),
    ]


@pytest.mark.parametrize("log", LOGS)
def test_every_prefix_has_every_view_and_each_has_its_json(log: Sequence[Record]) -> None:
    projection = RunProjection(RUN)
    for record in (None, *log):
        if record is not None:
            projection.absorb(record)
        for view in views(projection):
            assert isinstance(json.loads(json.dumps(as_json(view), allow_nan=False)), dict)


@pytest.mark.parametrize("log", LOGS)
def test_a_view_of_a_prefix_does_not_depend_on_what_came_later(log: Sequence[Record]) -> None:
    projection = RunProjection(RUN)
    live: list[list[Any]] = []
    for record in log:
        projection.absorb(record)
        live.append(views(projection))
    whole = [views(view_of(log[: count + 1])) for count in range(len(log))]
    assert live == whole


@pytest.mark.parametrize("log", LOGS)
def test_its_state_is_the_fold_of_the_log(log: Sequence[Record]) -> None:
    assert view_of(log).state == fold(log, run_id=RUN)


def test_a_record_that_may_not_follow_changes_nothing() -> None:
    log = begun().asks().says("Done.")
    projection = log.view
    before = views(projection)
    wrong = TurnStarted(turn=9).model_copy(update={"run_id": RUN, "seq": 6, "tenant": "acme", "epoch": 1})
    with pytest.raises(CorruptLog, match="wrong_number"):
        projection.absorb(wrong)
    assert views(projection) == before
    projection.absorb(log.asks().records[5])
    assert status_of(projection).turn == 2


def test_json_states_amounts_exactly_and_instants_in_utc() -> None:
    document = as_json(report_of(begun().asks().says("Done.").view, VERSION))
    assert document["admitted_at"] == "2026-05-04T12:00:00.000000Z"
    assert document["totals"]["cost"]["amount"] == "0.02"
    assert document["scope"] == {"tenant": "acme", "principal": "ann", "labels": {}}
    assert document["model_calls"][0]["finish_reason"] == "stop"


def test_json_holds_the_bytes_of_a_file_as_base64() -> None:
    file = ResultAttachment(
        name="a",
        handle="out_1",
        content_type="image/png",
        size_bytes=4,
        observed_bytes=4,
        data=b"\x89PNG",
        stored="inline",
    )
    log = begun().asks().says("", ("pay", {})).tool_started().tool_finished(0, "paid", attachments=(file,))
    (call,) = as_json(report_of(log.view, VERSION))["tool_calls"]
    assert [(each["name"], each["data"]) for each in call["attachments"]] == [("a", "iVBORw==")]


def test_what_stands_in_no_view_has_no_json() -> None:
    with pytest.raises(TypeError, match="object"):
        as_json(object())

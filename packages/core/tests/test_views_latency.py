"""Where a Run's time went."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.core.tests.stories import Story, at, begun, rich, view_of
from psych_runtime_core.records import Record
from psych_runtime_core.views.latency import latency_of
from psych_runtime_core.views.report_model import LatencyReport


def called(calls: int = 1) -> Story:
    """After two seconds of model work, these calls are announced at second 3."""
    return begun().asks().wait(2).says("", *[("pay", "{}")] * calls)


@pytest.mark.parametrize(
    ("log", "latency"),
    [
        pytest.param(Story(), LatencyReport(0, 0, 0, 0, 0, 0), id="no record"),
        pytest.param(Story().admitted(), LatencyReport(0, 0, 0, 0, 0, 0), id="just admitted"),
        pytest.param(Story().admitted().wait(9).attempt(), LatencyReport(9, 0, 0, 0, 0, 9), id="queued"),
        pytest.param(called(), LatencyReport(3, 0, 2, 0, 2, 1), id="a model call"),
        pytest.param(
            begun().asks().wait(2).model_failed("auth", next="stop"),
            LatencyReport(3, 0, 2, 0, 2, 1),
            id="a try that failed is work too",
        ),
        pytest.param(
            begun().asks().wait(60).attempt().model_started().wait(1).says("Done."),
            LatencyReport(62, 0, 1, 0, 1, 61),
            id="of a lost try nobody knows when it ended",
        ),
        pytest.param(
            called(2)
            .tool_started(0)
            .wait(1)
            .tool_started(1)
            .wait(3)
            .tool_finished(duration_seconds=4)
            .wait(1)
            .tool_finished(1, duration_seconds=4),
            LatencyReport(8, 0, 2, 8, 7, 1),
            id="two calls side by side are busy once",
        ),
        pytest.param(
            called().tool_started().wait(4).tool_finished(duration_seconds=1),
            LatencyReport(7, 0, 2, 1, 3, 4),
            id="a call is busy for as long as it ran",
        ),
        pytest.param(
            called().tool_started().wait(4).tool_finished(duration_seconds=1e300),
            LatencyReport(7, 0, 2, 1e300, 6, 1),
            id="and no longer than there was",
        ),
        pytest.param(
            called().tool_started().wait(60).attempt().tool_finished(outcome="unknown"),
            LatencyReport(63, 0, 2, 0, 2, 61),
            id="a dead Worker's silence is nobody's work",
        ),
        pytest.param(
            called().suspended().wait(50).resumed(approved=False).wait(2),
            LatencyReport(53, 50, 2, 0, 2, 1),
            id="a Wait is parked time",
        ),
        pytest.param(
            called().suspended().wait(50).sends("qe_1", "hi"),
            LatencyReport(53, 50, 2, 0, 2, 1),
            id="also while it lasts",
        ),
        pytest.param(
            called(2)
            .suspended(0)
            .tool_started(1)
            .wait(5)
            .tool_finished(1, duration_seconds=5)
            .wait(7)
            .sends("qe_1", "hi"),
            LatencyReport(15, 7, 2, 5, 7, 1),
            id="a Wait beside work parks nothing",
        ),
    ],
)
def test_the_time_from_admission_to_the_last_record_is_told_apart(log: Story, latency: LatencyReport) -> None:
    assert latency_of(log.view) == latency


def test_the_time_of_a_settled_run_stands_still() -> None:
    log = called().suspended().wait(10).abort().wait(1).tool_finished(outcome="aborted")
    assert latency_of(log.settled("aborted").view) == LatencyReport(14, 11, 2, 0, 2, 1)


@given(st.lists(st.integers(-40, 40), min_size=len(rich().records), max_size=len(rich().records)))
def test_clocks_that_contradict_each_other_break_no_sum(jumps: list[int]) -> None:
    shifted: list[Record] = [
        record.model_copy(update={"at": record.at + timedelta(seconds=jump)})
        for record, jump in zip(rich().records, jumps, strict=True)
    ]
    found = latency_of(view_of(shifted))
    parts = (found.parked_seconds, found.busy_seconds, found.unaccounted_seconds)
    assert min(*parts, found.model_seconds) >= 0
    assert sum(parts) == pytest.approx(found.wall_clock_seconds)


def test_nothing_before_the_admission_counts() -> None:
    records = begun().asks().says("Done.").records
    early = [record.model_copy(update={"at": at(-5)}) for record in records[1:]]
    assert latency_of(view_of([records[0], *early])) == LatencyReport(0, 0, 0, 0, 0, 0)

"""Where a Run's time went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.report_model import LatencyReport
from psych_runtime_core.views.transcript import CallRecords, TryRecords

Span = tuple[datetime, datetime]
NEVER = datetime.min.replace(tzinfo=UTC)


def latency_of(view: RunProjection) -> LatencyReport:
    """The time from admission to the last record, in parts.

    Clocks of several machines may contradict each other: nothing before the admission or after the last
    record counts, and no part is below zero.
    """
    whole, calls = _whole(view), view.calls.values()
    wall, waits, model = _length(whole), list(_parked_spans(view)), list(_model_spans(view.tries))
    parked = _covered(waits, whole)
    busy = _covered([*waits, *model, *_tool_spans(calls)], whole) - parked
    return LatencyReport(
        wall_clock_seconds=wall.total_seconds(),
        parked_seconds=parked.total_seconds(),
        model_seconds=sum(map(_length, model), timedelta()).total_seconds(),
        tool_seconds=sum((call.finished.duration_seconds for call in calls if call.finished), 0.0),
        busy_seconds=busy.total_seconds(),
        unaccounted_seconds=(wall - parked - busy).total_seconds(),
    )


def _whole(view: RunProjection) -> Span:
    first, last = view.admitted, view.state.head_at
    return (first.at, max(first.at, last)) if first and last else (NEVER, NEVER)


def _model_spans(tries: Iterable[TryRecords]) -> Iterator[Span]:
    return ((each.started.at, each.ended.at) for each in tries if each.ended is not None)


def _tool_spans(calls: Iterable[CallRecords]) -> Iterator[Span]:
    for call in calls:
        if call.started is not None and call.finished is not None:
            elapsed = _length((call.started.at, call.finished.at)).total_seconds()
            effort = timedelta(seconds=min(call.finished.duration_seconds, elapsed))
            yield call.finished.at - effort, call.finished.at


def _parked_spans(view: RunProjection) -> Iterator[Span]:
    yield from view.parked
    since, until = view.state.parked_since, view.state.head_at
    if since is not None and until is not None:
        yield since, until


def _covered(spans: Iterable[Span], whole: Span) -> timedelta:
    """How much of `whole` lies in at least one of `spans`."""
    covered = timedelta()
    reached, end = whole
    for start, stop in sorted(spans):
        fresh = max(start, reached), min(stop, end)
        covered += _length(fresh)
        reached = max(reached, fresh[1])
    return covered


def _length(span: Span) -> timedelta:
    return max(timedelta(), span[1] - span[0])

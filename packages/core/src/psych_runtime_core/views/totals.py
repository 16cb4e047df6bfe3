"""A report's sums: over the Run, and over each lane. What is unknown is None, never 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from psych_runtime_core.state.meter import Meter
from psych_runtime_core.usage import Usage
from psych_runtime_core.views.latency import latency_of
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.report_model import LaneReport, TotalsReport
from psych_runtime_core.views.transcript import TryRecords, TurnRecords

NO_USAGE = Usage(input=0, output=0)


def totals_of(view: RunProjection) -> TotalsReport:
    """The sums over the Run."""
    meter = view.state.meter
    return TotalsReport(
        usage=usage_of(meter),
        usage_source=_usage_source(meter),
        unreported_usage_calls=meter.unreported_usage_calls,
        cost=meter.cost,
        costs=tuple(meter.costs.values()),
        unpriced_model_calls=meter.unpriced_model_calls,
        cost_is_incomplete=cost_is_incomplete(meter),
        provider_reported_costs=meter.provider_reported_costs,
        model_calls=meter.model_calls,
        failed_model_calls=meter.failed_model_calls,
        lost_model_calls=meter.lost_model_calls,
        tool_calls=meter.tool_calls,
        refused_calls=meter.refused_calls,
        latency=latency_of(view),
    )


def lanes_of(view: RunProjection) -> Iterator[LaneReport]:
    """The sums over each lane, in the order in which they were opened."""
    lanes: dict[str, list[TurnRecords]] = {view.admitted.lane: []} if view.admitted else {}
    for turn in view.turns:
        lanes.setdefault(turn.started.lane, []).append(turn)
    return (_lane(lane, turns) for lane, turns in lanes.items())


def usage_of(meter: Meter) -> Usage | None:
    """The sum of what was reported: zero when nothing was called, None when nobody said."""
    return meter.usage if _calls_of(meter) else NO_USAGE


def cost_is_incomplete(meter: Meter) -> bool:
    """Whether the cost of a call is missing in the sum: it has no price, or it was lost."""
    return bool(meter.unpriced_model_calls or meter.lost_model_calls)


def _calls_of(meter: Meter) -> int:
    return meter.model_calls + meter.failed_model_calls + meter.lost_model_calls


def _usage_source(meter: Meter) -> Literal["provider", "partial", "unknown", "none"]:
    if not _calls_of(meter):
        return "none"
    if meter.usage is None:
        return "unknown"
    return "partial" if meter.unreported_usage_calls else "provider"


def _lane(lane: str, turns: list[TurnRecords]) -> LaneReport:
    meter = _metered(each for turn in turns for each in turn.tries)
    return LaneReport(
        lane=lane,
        turns=len(turns),
        usage=usage_of(meter),
        cost=meter.cost,
        cost_is_incomplete=cost_is_incomplete(meter),
        model_calls=meter.model_calls,
        tool_calls=sum(bool(call.starts) for turn in turns for call in turn.calls),
    )


def _metered(tries: Iterable[TryRecords]) -> Meter:
    meter = Meter()
    for each in tries:
        if each.finished is not None:
            meter = meter.finished(each.finished.usage, each.finished.cost)
        elif each.failed is not None:
            meter = meter.failed(each.failed)
        elif each.lost:
            meter = meter.lost()
    return meter

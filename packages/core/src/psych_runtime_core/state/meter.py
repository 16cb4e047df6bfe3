"""What a Run used and cost so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from psych_runtime_core.records.turn import ModelCallFailed
from psych_runtime_core.state.changed import changed
from psych_runtime_core.usage import Cost, Usage


@dataclass(frozen=True)
class Meter:
    """Sums over a log. `usage` is None until some call reported it; costs are one per currency."""

    usage: Usage | None = None
    unreported_usage_calls: int = 0
    costs: Mapping[str, Cost] = field(default_factory=dict[str, Cost])
    unpriced_model_calls: int = 0
    provider_reported_costs: int = 0
    model_calls: int = 0
    failed_model_calls: int = 0
    lost_model_calls: int = 0
    retries_used: int = 0
    tool_calls: int = 0
    refused_calls: int = 0

    @property
    def cost(self) -> Cost | None:
        """The total, in the one currency there is; None for none or two."""
        return next(iter(self.costs.values())) if len(self.costs) == 1 else None

    def finished(self, usage: Usage | None, cost: Cost | None) -> Meter:
        """After a model call that gave an answer."""
        metered = self._used(usage, cost)
        unpriced = self.unpriced_model_calls + (cost is None)
        return changed(metered, model_calls=self.model_calls + 1, unpriced_model_calls=unpriced)

    def failed(self, record: ModelCallFailed) -> Meter:
        """After a try that gave none. One that had begun to answer costs, whoever says how much."""
        unpriced = record.begun and record.cost is None
        return changed(
            self._used(record.usage, record.cost),
            failed_model_calls=self.failed_model_calls + 1,
            retries_used=self.retries_used + record.will_retry,
            unpriced_model_calls=self.unpriced_model_calls + unpriced,
        )

    def lost(self) -> Meter:
        """After a try whose end nobody saw."""
        return changed(
            self,
            lost_model_calls=self.lost_model_calls + 1,
            unreported_usage_calls=self.unreported_usage_calls + 1,
        )

    def _used(self, usage: Usage | None, cost: Cost | None) -> Meter:
        return changed(
            self,
            usage=usage if self.usage is None else self.usage + usage if usage else self.usage,
            unreported_usage_calls=self.unreported_usage_calls + (usage is None),
            costs=self.costs if cost is None else _added(self.costs, cost),
            provider_reported_costs=self.provider_reported_costs
            + (cost is not None and cost.source == "provider"),
        )


def _added(costs: Mapping[str, Cost], cost: Cost) -> Mapping[str, Cost]:
    held = costs.get(cost.currency)
    return {**costs, cost.currency: cost if held is None else held + cost}

"""The Versions a process has read, and whether it can serve them."""

from __future__ import annotations

from collections import OrderedDict

from psych_runtime.runtime import Runtime
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.errors import SpecValidationError, VersionNotFound
from psych_runtime_core.ids import VersionHash

PLANS_KEPT = 256


class PlanCache:
    """Reads each Version once, and keeps the newest ones used."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._plans: OrderedDict[VersionHash, Plan] = OrderedDict()

    async def find(self, version_hash: VersionHash) -> Plan | str:
        """The plan, or why this process cannot read that Version."""
        plan = self._plans.get(version_hash)
        if plan is None:
            try:
                plan = Plan(await self._runtime.store.get_version(version_hash))
            except (SpecValidationError, VersionNotFound) as error:
                return str(error)
            self._plans[version_hash] = plan
        self._plans.move_to_end(version_hash)
        if len(self._plans) > PLANS_KEPT:
            self._plans.popitem(last=False)
        return plan

    def missing(self, plan: Plan) -> str | None:
        """What this process lacks to serve the plan, None when it can."""
        registry = self._runtime.registry
        absent = [tool.name for tool in plan.spec.tools if tool.name not in registry]
        if absent:
            return f"its tools are not registered here: {', '.join(absent)}"
        asleep = [tool.name for tool in plan.spec.tools if not registry.require(tool.name).is_async]
        if asleep and self._runtime.threads.exhausted:
            return f"too many threads hang here to run its synchronous tools: {', '.join(asleep)}"
        return None

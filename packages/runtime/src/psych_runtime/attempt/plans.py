"""The Versions a process has read, and whether it can serve them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from psych_runtime.runtime import Runtime
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.errors import SpecValidationError, VersionNotFound
from psych_runtime_core.ids import VersionHash

PLANS_KEPT = 256


@dataclass(frozen=True, slots=True)
class Unserved:
    """Why this process cannot serve a Version."""

    reason: str


class PlanCache:
    """Reads each Version once, and keeps the ones used last."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._plans: OrderedDict[VersionHash, Plan] = OrderedDict()

    async def serve(self, version_hash: VersionHash) -> Plan | Unserved:
        """The plan of a Version, if this process can read it and has what it needs."""
        try:
            plan = self._plans.get(version_hash) or Plan(await self._runtime.store.get_version(version_hash))
        except (SpecValidationError, VersionNotFound) as error:
            return Unserved(str(error))
        self._keep(plan)
        return self._lacking(plan) or plan

    def _keep(self, plan: Plan) -> None:
        self._plans[plan.hash] = plan
        self._plans.move_to_end(plan.hash)
        if len(self._plans) > PLANS_KEPT:
            self._plans.popitem(last=False)

    def _lacking(self, plan: Plan) -> Unserved | None:
        registry = self._runtime.registry
        absent = [tool.name for tool in plan.spec.tools if tool.name not in registry]
        if absent:
            return Unserved(f"its tools are not registered here: {', '.join(absent)}")
        threaded = [tool.name for tool in plan.spec.tools if not registry.require(tool.name).is_async]
        if threaded and self._runtime.threads.exhausted:
            return Unserved(f"too many threads hang here to run its synchronous tools: {', '.join(threaded)}")
        return None

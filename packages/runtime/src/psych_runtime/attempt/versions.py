"""The Versions of the Runs that a Worker claims, and whether its process can serve them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from psych_runtime.runtime import Runtime
from psych_runtime.tools.granted import GrantedTools
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.errors import SpecValidationError, VersionNotFound
from psych_runtime_core.ids import VersionHash

VERSIONS_KEPT = 256


@dataclass(frozen=True, slots=True)
class Served:
    """A Version that this process can serve, with its tools."""

    plan: Plan
    tools: GrantedTools


@dataclass(frozen=True, slots=True)
class Unserved:
    """Why this process cannot serve a Version."""

    reason: str


class Versions:
    """Reads each Version once, and keeps the ones used last."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._served: OrderedDict[VersionHash, Served] = OrderedDict()

    async def serve(self, version_hash: VersionHash) -> Served | Unserved:
        """A Version, if this process can read it and has what it needs."""
        try:
            served = self._served.get(version_hash) or await self._read(version_hash)
        except (SpecValidationError, VersionNotFound) as error:
            return Unserved(str(error))
        self._keep(served)
        return self._lacking(served.tools) or served

    async def _read(self, version_hash: VersionHash) -> Served:
        store = self._runtime.store
        plan = Plan(await store.get_version(version_hash))
        return Served(plan, GrantedTools(plan.spec, self._runtime.registry, store.clock))

    def _keep(self, served: Served) -> None:
        self._served[served.plan.hash] = served
        self._served.move_to_end(served.plan.hash)
        if len(self._served) > VERSIONS_KEPT:
            self._served.popitem(last=False)

    def _lacking(self, tools: GrantedTools) -> Unserved | None:
        found = {name: tools.get(name) for name in tools.names}
        absent = [name for name, tool in found.items() if tool is None]
        if absent:
            return Unserved(f"its tools are not registered here: {', '.join(absent)}")
        threaded = [name for name, tool in found.items() if tool is not None and not tool.is_async]
        if threaded and self._runtime.threads.exhausted:
            return Unserved(f"too many threads hang here to run its synchronous tools: {', '.join(threaded)}")
        return None

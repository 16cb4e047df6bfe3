"""The tools that are offered in a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.records.facts import OfferedTool
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.grants import narrow


@dataclass(frozen=True, slots=True)
class Offer:
    """What may be called now: granted by the Spec, permitted to the tenant, registered here."""

    tools: Mapping[str, RegisteredTool]

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(tool.definition() for tool in self.tools.values())

    @property
    def offered(self) -> tuple[OfferedTool, ...]:
        return tuple(tool.offered for tool in self.tools.values())


def offer(spec: AgentSpec, registry: ToolRegistry, permitted: Sequence[str] | None) -> Offer:
    """The tools of `spec` that may be called now, by name; `permitted` are the tenant's patterns."""
    granted = [tool.name for tool in spec.tools]
    names = narrow(granted, tenant=permitted, callable_now=registry.names)
    return Offer({name: registry.require(name) for name in names})

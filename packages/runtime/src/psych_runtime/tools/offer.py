"""The tools that are offered in a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from psych_runtime.tools.any_tool import AnyTool
from psych_runtime.tools.granted import GrantedTools
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.records.facts import OfferedTool
from psych_runtime_core.spec.grants import narrow


@dataclass(frozen=True, slots=True)
class Offer:
    """What may be called now: granted by the Spec, permitted to the tenant, callable here, or built in."""

    tools: Mapping[str, AnyTool]

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(tool.definition() for tool in self.tools.values())

    @property
    def offered(self) -> tuple[OfferedTool, ...]:
        return tuple(tool.offered for tool in self.tools.values())


def offer(granted: GrantedTools, permitted: Sequence[str] | None, builtins: Iterable[AnyTool] = ()) -> Offer:
    """The granted tools that may be called now, by name; `permitted` are the tenant's patterns for them.

    Behind them stand the `builtins` that there is a use for.
    """
    found = {name: tool for name in granted.names if (tool := granted.get(name)) is not None}
    allowed = {name: found[name] for name in narrow(found, tenant=permitted)}
    return Offer({**allowed, **{tool.name: tool for tool in builtins}})

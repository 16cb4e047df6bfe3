"""The tools of a Spec, whatever their kind, as this process can call them."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.tools.any_tool import AnyTool
from psych_runtime.tools.http.endpoint import HttpEndpoint
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.clock import Clock
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.tools import CodeTool


@dataclass(frozen=True, slots=True)
class RunTerms:
    """How one run of a tool may be cut: by an abort, and after how many seconds."""

    interruptible: bool
    timeout_seconds: float | None


class GrantedTools:
    """Those that a Version grants: endpoints of its own, made once, and functions of the registry.

    The registry is looked at anew each time, so a change to it is seen at the next turn.
    """

    def __init__(self, spec: AgentSpec, registry: ToolRegistry, clock: Clock) -> None:
        self.names = tuple(tool.name for tool in spec.tools)
        self._registry = registry
        self._code = {tool.name: tool for tool in spec.tools if isinstance(tool, CodeTool)}
        self._http = {
            tool.name: HttpEndpoint(tool, clock) for tool in spec.tools if isinstance(tool, HttpTool)
        }

    def get(self, name: str) -> AnyTool | None:
        """The tool of this very name; None for one that is not granted, or not registered here."""
        return self._registry.get(name) if name in self._code else self._http.get(name)

    def terms(self, tool: AnyTool) -> RunTerms:
        """Those of the tool; of a function the stricter ones of its registration and of the Spec."""
        said = self._code.get(tool.name)
        if said is None:
            return RunTerms(tool.interruptible, tool.timeout_seconds)
        seconds = [one for one in (said.timeout_seconds, tool.timeout_seconds) if one is not None]
        return RunTerms(said.interruptible and tool.interruptible, min(seconds, default=None))

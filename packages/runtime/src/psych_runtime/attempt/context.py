"""What a performer needs to know of its Attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from psych_runtime.attempt.outputs import Outputs
from psych_runtime.runtime import Runtime
from psych_runtime.tools.any_tool import AnyTool
from psych_runtime.tools.builtins.read_output import ReadToolOutput
from psych_runtime.tools.granted import GrantedTools, RunTerms
from psych_runtime.tools.offer import Offer, offer
from psych_runtime_core.clock import Clock
from psych_runtime_core.engine.conversation import Conversation
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.state.run import RunStateView


@dataclass(frozen=True, slots=True)
class Begun:
    """What a call began with: its tool and its arguments stay as they were then."""

    tool: AnyTool
    arguments: Mapping[str, object]
    terms: RunTerms


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """One Run under one lease. Performers read `state` and never change it."""

    runtime: Runtime
    plan: Plan
    tools: GrantedTools
    state: RunStateView
    outputs: Outputs
    conversation: Conversation
    grace_seconds: float
    begun: dict[ToolCallId, Begun] = field(default_factory=dict["ToolCallId", "Begun"])

    @property
    def clock(self) -> Clock:
        return self.runtime.store.clock

    def offer(self, permitted: Sequence[str] | None) -> Offer:
        """What may be called now; `permitted` are the tenant's patterns."""
        builtins = (ReadToolOutput(self.outputs),) if self.state.handles else ()
        return offer(self.tools, permitted, builtins)

    def let_go(self, *call_ids: ToolCallId) -> None:
        """Forget with what these calls began, and give their places back."""
        for call_id in call_ids:
            self.runtime.permits.give_back(call_id)
            self.begun.pop(call_id, None)

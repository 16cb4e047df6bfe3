"""Who may run what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict. A stated reason for a denial is told to the model."""

    allowed: bool
    reason: str = ""
    requires_approval: bool = False

    @classmethod
    def allow(cls) -> Decision:
        return cls(allowed=True)

    @classmethod
    def deny(cls, reason: str = "") -> Decision:
        return cls(allowed=False, reason=reason)

    @classmethod
    def ask(cls, reason: str = "") -> Decision:
        """Allowed, once a person has approved of it."""
        return cls(allowed=True, reason=reason, requires_approval=True)


class Policy(Protocol):
    """The consumer's own rules. One that raises, or takes over 5 s, denies."""

    async def allow_run(self, scope: Scope, version: Version) -> Decision:
        """Asked once a Run, before anything of it begins."""
        ...

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        """Asked each time a call is about to begin, of an approved call too."""
        ...

    async def permitted_tools(self, scope: Scope, source: str | None) -> Sequence[str] | None:
        """Patterns of the tools this tenant may have of a source (None: code); None restricts nothing."""
        ...


class AllowAll:
    """Allows everything: the default, and the base to subclass."""

    async def allow_run(self, scope: Scope, version: Version) -> Decision:
        del scope, version
        return Decision.allow()

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        del scope, tool, arguments
        return Decision.allow()

    async def permitted_tools(self, scope: Scope, source: str | None) -> Sequence[str] | None:
        del scope, source
        return None

"""Tools made for a test: registered, called, given a context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.scope import Scope

CONTEXT = ToolContext(
    scope=Scope(tenant="acme"),
    run_id=RunId("run_1"),
    call_id=ToolCallId("call_1"),
    tool="tool",
    idempotency_key="idem_1",
)


def registry_of(fn: Any, **keywords: Any) -> ToolRegistry:
    """`fn` as the tool `tool`, unless `keywords` say otherwise."""
    said: Any = {"name": "tool", "description": "A tool.", **keywords}
    registry = ToolRegistry()
    registry.register(fn, **said)
    return registry


def registered(fn: Any, **keywords: Any) -> RegisteredTool:
    return next(iter(registry_of(fn, **keywords)))


async def called(
    fn: Any, arguments: Mapping[str, Any] | None = None, context: ToolContext | None = None
) -> Any:
    """What `fn` gives when it is called as a tool."""
    return await registry_of(fn).call("tool", arguments or {}, context=context)

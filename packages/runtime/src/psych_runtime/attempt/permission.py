"""Asking the Policy: it is bounded, and one that fails denies."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import TypeVar

import anyio

from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.policy import Decision, Policy
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version

logger = logging.getLogger("psych_runtime.policy")
POLICY_SECONDS = 5.0
T = TypeVar("T")


async def run_is_allowed(policy: Policy, scope: Scope, version: Version) -> Decision:
    """The verdict on a Run, before anything of it begins."""
    return await _bounded(policy.allow_run(scope, version), Decision.deny())


async def tool_is_allowed(
    policy: Policy, scope: Scope, tool: ToolDefinition, arguments: JsonObject
) -> Decision:
    """The verdict on a call that is about to begin."""
    return await _bounded(policy.allow_tool(scope, tool, arguments), Decision.deny())


async def permitted(policy: Policy, scope: Scope) -> Sequence[str] | None:
    """Patterns of the code tools that the tenant may have; none at all when the Policy fails."""
    return await _bounded(policy.permitted_tools(scope, None), ())


async def _bounded(answer: Awaitable[T], denial: T) -> T:
    try:
        with anyio.fail_after(POLICY_SECONDS):
            return await answer
    except Exception:
        # The operator learns why; a model learns only that it is not allowed.
        logger.exception("the Policy failed, so it denies")
        return denial

"""Asking the Policy: it is bounded, and one that fails denies."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar, cast

from psych_runtime.verdicts import POLICY_SECONDS, NoVerdict, verdict_of
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.policy import Decision, Policy
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version

logger = logging.getLogger("psych_runtime.policy")
T = TypeVar("T")


async def run_is_allowed(policy: Policy, scope: Scope, version: Version) -> Decision:
    """The verdict on a Run, before anything of it begins."""
    return await _bounded(lambda: policy.allow_run(scope, version), _decided, Decision.deny())


async def tool_is_allowed(
    policy: Policy, scope: Scope, tool: ToolDefinition, arguments: JsonObject
) -> Decision:
    """The verdict on a call that is about to begin."""
    return await _bounded(lambda: policy.allow_tool(scope, tool, arguments), _decided, Decision.deny())


async def permitted(policy: Policy, scope: Scope) -> Sequence[str] | None:
    """Patterns of the functions and endpoints that the tenant may have; none at all when the Policy fails."""
    return await _bounded(lambda: policy.permitted_tools(scope, None), _listed, ())


async def _bounded(ask: Callable[[], Awaitable[object]], fits: Callable[[object], T], denial: T) -> T:
    try:
        return await verdict_of(ask, fits, POLICY_SECONDS)
    except NoVerdict as none:
        # The operator learns why; a model learns only that it is not allowed.
        logger.error("the Policy %s, so it denies", none, exc_info=none.__cause__)
        return denial


def _decided(verdict: object) -> Decision:
    """A Policy is the consumer's code, and may give anything."""
    if not isinstance(verdict, Decision):
        raise TypeError(f"a Policy gives a Decision, not {type(verdict).__name__}")
    return verdict


def _listed(patterns: object) -> Sequence[str] | None:
    if patterns is None:
        return None
    listed = list(cast("Iterable[object]", patterns))
    texts = [pattern for pattern in listed if isinstance(pattern, str)]
    if len(texts) < len(listed):
        raise TypeError("permitted_tools gives texts, or None")
    return texts

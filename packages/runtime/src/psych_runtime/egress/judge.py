"""Asking the egress policy: the one place that does. It is bounded, and a policy that fails denies."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import cast

from psych_runtime.verdicts import POLICY_SECONDS, NoVerdict, verdict_of
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressDecision, EgressPolicy, EgressRequest, IPAddress

logger = logging.getLogger("psych_runtime.egress")
MAX_REASON = 1000


async def judged(policy: EgressPolicy, request: EgressRequest) -> EgressDecision:
    """Whether this hop may be sent; a refusal has a reason."""
    return await _bounded(policy, request, None)


async def judged_addresses(
    policy: EgressPolicy, request: EgressRequest, addresses: Sequence[IPAddress]
) -> EgressDecision:
    """Whether a connection may go to any of these addresses: a refusal of one refuses the name."""
    if not addresses:
        return EgressDecision(False, "the name leads to no address")
    for address in addresses:
        decision = await _bounded(policy, request, address)
        if not decision.allowed:
            return decision
    return EgressDecision(True)


def enforce(request: EgressRequest, decision: EgressDecision) -> None:
    """Raises `AccessDenied` unless it was allowed."""
    if not decision.allowed:
        raise AccessDenied(request.origin, decision.reason)


async def _bounded(policy: EgressPolicy, request: EgressRequest, address: IPAddress | None) -> EgressDecision:
    async def ask() -> object:
        asked = policy.allow(request) if address is None else policy.allow_address(request, address)
        return await asked

    try:
        return await verdict_of(ask, partial(decided, policy), POLICY_SECONDS)
    except NoVerdict as none:
        logger.error("the egress policy %s, so it denies", none, exc_info=none.__cause__)
        return EgressDecision(False, f"{_named(policy)} {none}, so it denies; the log has its error")


def decided(policy: EgressPolicy, decision: object) -> EgressDecision:
    """What a policy said. It is the consumer's code, and may give anything: only True allows."""
    if not isinstance(decision, EgressDecision):
        raise TypeError(f"an egress policy gives an EgressDecision, not {type(decision).__name__}")
    if decision.allowed is True:
        return EgressDecision(True)
    reason = cast("object", decision.reason)
    if not isinstance(reason, str) or not reason:
        return EgressDecision(False, f"{_named(policy)} refused it and gave no reason")
    return EgressDecision(False, reason[:MAX_REASON])


def _named(policy: EgressPolicy) -> str:
    return f"the egress policy {type(policy).__name__}"

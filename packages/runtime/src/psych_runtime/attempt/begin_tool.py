"""The one door to a call: is it offered, valid and allowed now, and does a person have to agree?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from psych_runtime.attempt.context import AttemptContext, Begun
from psych_runtime.attempt.permission import permitted, tool_is_allowed
from psych_runtime.tools.any_tool import AnyTool
from psych_runtime.tools.arguments import check_size, parse_arguments
from psych_runtime.tools.offer import Offer
from psych_runtime.tools.permits import PermitClaim
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.effects import RunTool
from psych_runtime_core.engine.results import ended, refused
from psych_runtime_core.ids import WaitId, call_digest, derive_wait_id
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import class_of
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import FailureKind, SuspendReason, ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ToolCallStarted
from psych_runtime_core.records.wait import Suspended
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.waits import Remembered

Verdict = Literal["allowed", "approved", "remembered"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What would run: the tool, its arguments as JSON and as it takes them, and their digest."""

    tool: AnyTool
    arguments: Mapping[str, Json]
    instances: Mapping[str, object]
    digest: str
    edited: bool


@dataclass(frozen=True, slots=True)
class Rest:
    """What lets the call run without asking a person again."""

    decision: Verdict = "allowed"
    wait_id: WaitId | None = None


async def begin_tool(effect: RunTool, attempt: AttemptContext) -> Record:
    """The start of a call, its refusal, or the Wait for a person."""
    call = attempt.state.calls[effect.call_id]
    begun = await _begin(call, attempt)
    if not isinstance(begun, ToolCallStarted):
        attempt.let_go(call.call_id)
    return begun


async def _begin(call: CallState, attempt: AttemptContext) -> Record:
    allowed = await permitted(attempt.runtime.policy, attempt.state.scope)
    wanted = _wanted(attempt, call, attempt.offer(allowed))
    if isinstance(wanted, ToolFailure):
        return _refusal(attempt, call, wanted)
    rest = _rest(attempt, call, wanted)
    if isinstance(rest, ToolFailure):
        return _refusal(attempt, call, rest)
    definition = wanted.tool.definition()
    verdict = await tool_is_allowed(attempt.runtime.policy, attempt.state.scope, definition, wanted.arguments)
    if not verdict.allowed:
        return _refusal(attempt, call, _denial(wanted.tool.name, verdict.reason))
    asks = verdict.requires_approval and (rest is None or rest.decision != "approved")
    if rest is None or asks:
        return _suspended(attempt, call, wanted, verdict.reason)
    await attempt.runtime.permits.take(_permit(attempt, call, wanted.tool))
    begun = Begun(wanted.tool, wanted.instances, attempt.tools.terms(wanted.tool))
    attempt.begun[call.call_id] = begun
    return _started(call, wanted, rest, begun)


def _wanted(attempt: AttemptContext, call: CallState, offered: Offer) -> Wanted | ToolFailure:
    """What would run now, or why nothing would."""
    tool = offered.tools.get(call.name)
    if tool is None:
        return _absent(attempt, call, offered)
    edited = _edited(attempt, call)
    known = call.arguments if edited is None else edited
    arguments = parse_arguments(call.arguments_raw) if known is None else known
    if isinstance(arguments, Problem):
        return _invalid(call, arguments)
    instances = (None if edited is None else check_size(edited)) or tool.validate(arguments)
    if isinstance(instances, Problem):
        return _invalid(call, instances)
    digest = call_digest(attempt.state.digest_salt, tool.name, arguments)
    return Wanted(tool, arguments, instances, digest, edited=edited is not None)


def _edited(attempt: AttemptContext, call: CallState) -> Mapping[str, Json] | None:
    """The arguments that a person put in place of the model's, while their Wait is held."""
    wait = attempt.state.waits.get(call.wait_id) if call.wait_id else None
    return wait.answer.arguments if wait is not None and wait.answer is not None else None


def _absent(attempt: AttemptContext, call: CallState, offered: Offer) -> ToolFailure:
    if attempt.tools.get(call.name) is not None:
        return _denial(call.name, "")
    return ToolFailure(
        kind=FailureKind.UNKNOWN_TOOL, message=wording.unknown_tool(call.name, list(offered.tools))
    )


def _invalid(call: CallState, problem: Problem) -> ToolFailure:
    if problem.kind is FailureKind.MALFORMED_ARGUMENTS:
        text = wording.malformed_arguments(problem.message, call.arguments_raw)
    elif problem.kind is FailureKind.INVALID_ARGUMENTS:
        text = wording.invalid_arguments(problem.message.split("\n"))
    else:
        text = problem.message
    return ToolFailure(kind=problem.kind, message=text)


def _rest(attempt: AttemptContext, call: CallState, wanted: Wanted) -> Rest | ToolFailure | None:
    """What the call may rest on; None when a person must be asked."""
    if call.approved is not None:
        if call.approved.arguments_digest != wanted.digest:
            return ToolFailure(kind=FailureKind.APPROVAL_STALE, message=wording.approval_stale())
        return Rest("approved", call.approved.wait_id)
    if not attempt.runtime.selectors.take(wanted.tool.definition()):
        return Rest()
    remembered = _remembered(attempt, wanted)
    if remembered is None:
        return None
    if not remembered.approved:
        return ToolFailure(kind=FailureKind.DENIED, message=wording.denied())
    return Rest("remembered", remembered.wait_id)


def _remembered(attempt: AttemptContext, wanted: Wanted) -> Remembered | None:
    exact = attempt.state.remembered.get((wanted.tool.name, wanted.digest))
    return exact or attempt.state.remembered.get((wanted.tool.name, None))


def _denial(tool: str, reason: str) -> ToolFailure:
    return ToolFailure(kind=FailureKind.ACCESS_DENIED, message=wording.access_denied(tool, reason))


def _refusal(attempt: AttemptContext, call: CallState, failure: ToolFailure) -> Record:
    """The refusal; of a call that a dead Attempt began, whose effect may stand, `unknown`."""
    if call.phase == "started":
        return ended(call, ToolOutcome.UNKNOWN, failure)
    return refused(attempt.state, call, failure)


def _permit(attempt: AttemptContext, call: CallState, tool: AnyTool) -> PermitClaim:
    return PermitClaim(
        call_id=call.call_id,
        run_id=attempt.state.run_id,
        lane=call.lane,
        tool=tool.name,
        parallel=tool.parallel,
        max_concurrency=tool.max_concurrency,
    )


def _suspended(attempt: AttemptContext, call: CallState, wanted: Wanted, reason: str) -> Record:
    tool_class = class_of(wanted.tool.definition())
    expires = timedelta(seconds=attempt.plan.spec.suspension.approval_expires_seconds)
    return Suspended(
        lane=call.lane,
        wait_id=derive_wait_id(attempt.state.run_id, call.call_id, call.waits_opened),
        reason=SuspendReason.APPROVAL,
        due_at=attempt.clock.now() + expires,
        call_id=call.call_id,
        tool=wanted.tool.name,
        tool_class=tool_class,
        arguments_digest=wanted.digest,
        question=wording.approval_question(wanted.tool.name, tool_class, reason),
    )


def _started(call: CallState, wanted: Wanted, rest: Rest, begun: Begun) -> Record:
    definition = wanted.tool.definition()
    return ToolCallStarted(
        lane=call.lane,
        call_id=call.call_id,
        tool=wanted.tool.name,
        turn=call.turn,
        run_number=call.run_number + 1,
        arguments_digest=wanted.digest,
        arguments=wanted.arguments if wanted.edited else None,
        decision=rest.decision,
        wait_id=rest.wait_id,
        tool_class=class_of(definition),
        interruptible=begun.terms.interruptible,
        safe_to_retry=definition.safe_to_retry,
        probe=wanted.tool.probe is not None,
    )

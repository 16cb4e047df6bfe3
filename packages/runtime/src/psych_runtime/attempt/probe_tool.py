"""Asks the world whether a call that may have run took effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from psych_runtime.attempt.begin_tool import begin_tool
from psych_runtime.attempt.context import AttemptContext, Begun
from psych_runtime.attempt.first import within
from psych_runtime.attempt.tool_context import context_of
from psych_runtime.attempt.tool_results import ResultMaker
from psych_runtime.secrets.masks import NO_MASKS, Masks
from psych_runtime.tools.any_tool import AnyTool
from psych_runtime.tools.context import secrets_of
from psych_runtime.tools.ending import Unheard
from psych_runtime.tools.granted import RunTerms
from psych_runtime.tools.invoke import CodeRun
from psych_runtime.tools.probe import Probed, ProbeState, probed
from psych_runtime_core.engine.effects import RunTool
from psych_runtime_core.engine.results import ended
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.calls import CallState

PROBE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a call; `seen` in the world, else decided here and open to be decided again."""

    record: Record
    seen: bool


async def probe_tool(effect: RunTool, attempt: AttemptContext) -> Found:
    """What became of a call that a dead Attempt began; one that was not done begins again."""
    call = attempt.state.calls[effect.call_id]
    tool = attempt.tools.get(call.tool or call.name)
    asked = _Asked(Probed(ProbeState.UNKNOWN), NO_MASKS) if tool is None else await _ask(attempt, call, tool)
    if asked.found.state == ProbeState.NOT_DONE:
        return Found(await begin_tool(effect, attempt), seen=False)
    return Found(await _settled(attempt, call, asked), seen=True)


async def ask_once(
    attempt: AttemptContext, call: CallState, tool: AnyTool, *, not_done: ToolCallFinished
) -> ToolCallFinished:
    """The end of a call whose own end was not seen: done, `not_done`, or unknown."""
    asked = await _ask(attempt, call, tool)
    return not_done if asked.found.state == ProbeState.NOT_DONE else await _settled(attempt, call, asked)


class _Asked(NamedTuple):
    """What a probe found, and what hides the secrets that it looked up to find it."""

    found: Probed
    masks: Masks


async def _settled(attempt: AttemptContext, call: CallState, asked: _Asked) -> ToolCallFinished:
    if asked.found.state == ProbeState.DONE:
        maker = ResultMaker(attempt, call, asked.masks)
        return await maker.value(asked.found.result, recovered=True)
    return ended(call, ToolOutcome.UNKNOWN)


async def _ask(attempt: AttemptContext, call: CallState, tool: AnyTool) -> _Asked:
    context = context_of(attempt, call, Begun(tool, {}, RunTerms(True, PROBE_SECONDS)))
    probe = tool.bind_probe(context.idempotency_key, context)
    if probe is None:
        return _Asked(Probed(ProbeState.UNKNOWN), NO_MASKS)
    code = CodeRun(probe, threads=None, context=context)
    ending = await within(PROBE_SECONDS, attempt.clock, code.wait)
    if ending is None:
        code.cut()
    found = probed(ending or Unheard(), passes_key_on=tool.takes_context)
    return _Asked(found, secrets_of(context).masks)

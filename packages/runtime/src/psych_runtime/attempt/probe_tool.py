"""Asks the world whether a call that may have run took effect."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.attempt.begin_tool import begin_tool
from psych_runtime.attempt.context import AttemptContext, Begun
from psych_runtime.attempt.first import within
from psych_runtime.attempt.tool_context import context_of
from psych_runtime.attempt.tool_results import ResultMaker
from psych_runtime.tools.ending import Unheard
from psych_runtime.tools.invoke import CodeRun
from psych_runtime.tools.probe import Probed, ProbeState, probed
from psych_runtime.tools.registered import RegisteredTool
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
    tool = attempt.runtime.registry.get(call.tool or call.name)
    found = Probed(ProbeState.UNKNOWN) if tool is None else await _ask(attempt, call, tool)
    if found.state == ProbeState.NOT_DONE:
        return Found(await begin_tool(effect, attempt), seen=False)
    return Found(_settled(attempt, call, found), seen=True)


async def ask_once(
    attempt: AttemptContext, call: CallState, tool: RegisteredTool, *, not_done: ToolCallFinished
) -> ToolCallFinished:
    """The end of a call whose own end was not seen: done, `not_done`, or unknown."""
    found = await _ask(attempt, call, tool)
    return not_done if found.state == ProbeState.NOT_DONE else _settled(attempt, call, found)


def _settled(attempt: AttemptContext, call: CallState, found: Probed) -> ToolCallFinished:
    if found.state == ProbeState.DONE:
        return ResultMaker(attempt, call).value(found.result, recovered=True)
    return ended(call, ToolOutcome.UNKNOWN)


async def _ask(attempt: AttemptContext, call: CallState, tool: RegisteredTool) -> Probed:
    if tool.probe is None:
        return Probed(ProbeState.UNKNOWN)
    context = context_of(attempt, call, Begun(tool, {}, interruptible=True, timeout_seconds=PROBE_SECONDS))
    code = CodeRun(tool.bind_probe(context.idempotency_key, context), threads=None, context=context)
    ending = await within(PROBE_SECONDS, attempt.clock, code.wait)
    if ending is None:
        code.cut()
    return probed(ending or Unheard(), passes_key_on=tool.takes_context)

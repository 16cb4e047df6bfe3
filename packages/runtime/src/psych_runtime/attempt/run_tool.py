"""Carries a started call out, cuts it short when it must, and says how it ended."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from psych_runtime.attempt.context import AttemptContext, Begun
from psych_runtime.attempt.cut import UNWIND_SECONDS, Cut, CutReason
from psych_runtime.attempt.first import first_of, within
from psych_runtime.attempt.probe_tool import ask_once
from psych_runtime.attempt.tool_context import context_of
from psych_runtime.attempt.tool_results import ResultMaker
from psych_runtime.tools.context import ToolContext, secrets_of
from psych_runtime.tools.ending import Ending, Raised, Returned, Unheard
from psych_runtime.tools.invoke import CodeRun
from psych_runtime_core.engine.effects import RunTool
from psych_runtime_core.engine.results import ended
from psych_runtime_core.messages import ToolClass, class_of
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.calls import CallState

logger = logging.getLogger("psych_runtime.attempt")


async def run_tool(effect: RunTool, attempt: AttemptContext, cut: Cut) -> ToolCallFinished | None:
    """The call's end; None leaves it open, for the next Attempt to run again."""
    call = attempt.state.calls[effect.call_id]
    try:
        begun = attempt.begun[effect.call_id]
        context = context_of(attempt, call, begun)
        return await _Execution(call, attempt, begun, context, cut).carried_out()
    finally:
        attempt.let_go(effect.call_id)


@dataclass
class _Execution:
    call: CallState
    attempt: AttemptContext
    begun: Begun
    context: ToolContext
    cut: Cut

    async def carried_out(self) -> ToolCallFinished | None:
        tool, clock = self.begun.tool, self.attempt.clock
        threads = None if tool.is_async else self.attempt.runtime.threads
        context, started_at = self.context, clock.monotonic()
        code = CodeRun(tool.bind(self.begun.arguments, context), threads=threads, context=context)
        try:
            end = await self._end(code)
        except asyncio.CancelledError:
            self._drop(code)
            raise
        return end and end.model_copy(update={"duration_seconds": clock.monotonic() - started_at})

    def _drop(self, code: CodeRun) -> None:
        """The lease is gone, and with it whoever would hear of the end."""
        if self.begun.terms.interruptible:
            code.cut()
        else:
            logger.warning("%s runs on, and its result is dropped: the Run is another's", self.call.call_id)

    async def _end(self, code: CodeRun) -> ToolCallFinished | None:
        with self.cut.heeded():
            ending = await self._in_time(code)
            return await (self._timed_out(code) if ending is None else self._ended(ending))
        assert self.cut.reason is not None, "only the cut leaves the block without a result"
        return await self._cut_short(code, self.cut.reason)

    async def _in_time(self, code: CodeRun) -> Ending | None:
        """How the code ended; None when it ran for as long as it may, its wait for a thread not counted."""
        if self.begun.terms.timeout_seconds is None:
            return await code.wait()
        await first_of(code.wait, code.began.wait)
        return await within(self.begun.terms.timeout_seconds, self.attempt.clock, code.wait)

    async def _ended(self, ending: Ending) -> ToolCallFinished:
        """The result; one that is cut while its blobs are stored is made again, outside of the cut."""
        return await self._maker.of(ending)

    async def _cut_short(self, code: CodeRun, reason: CutReason) -> ToolCallFinished | None:
        if not self.begun.terms.interruptible:
            ending = await within(self.attempt.grace_seconds, self.attempt.clock, code.wait)
            if ending is not None:
                return await self._ended(ending)
            code.cut()
            return self._given_up()
        ending = await self._unwound(code)
        if isinstance(ending, Returned):
            return await self._ended(ending)
        if reason is CutReason.WORKER_STOPS and self.call.safe_to_retry:
            return None
        if ending is None:
            return self._given_up()
        known = isinstance(ending, Raised) or self._only_reads
        return ended(self.call, ToolOutcome.ABORTED if known else ToolOutcome.UNKNOWN)

    async def _timed_out(self, code: CodeRun) -> ToolCallFinished:
        """Interruptible async code is cut and unwinds; any other is left to end unheard."""
        ending: Ending | None = Unheard()
        if not self.begun.tool.is_async:
            code.cut()
        elif self.begun.terms.interruptible:
            ending = await self._unwound(code)
        if isinstance(ending, Returned):
            return await self._ended(ending)
        timed_out = self._maker.timed_out(self.begun.terms.timeout_seconds or 0.0)
        if isinstance(ending, Raised) or self._only_reads:
            return timed_out
        return await ask_once(self.attempt, self.call, self.begun.tool, not_done=timed_out)

    async def _unwound(self, code: CodeRun) -> Ending | None:
        """How the code ended after it was told to; None when it goes on."""
        code.cut()
        return await within(UNWIND_SECONDS, self.attempt.clock, code.wait)

    def _given_up(self) -> ToolCallFinished:
        return self._maker.given_up()

    @property
    def _maker(self) -> ResultMaker:
        return ResultMaker(self.attempt, self.call, secrets_of(self.context).masks)

    @property
    def _only_reads(self) -> bool:
        return class_of(self.begun.tool.definition()) is ToolClass.READ_ONLY

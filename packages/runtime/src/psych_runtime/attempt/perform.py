"""Carries effects out: one performer each, and what it brought back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from psych_runtime_core.engine.effects import CallModel
from psych_runtime_core.records import Record
from psych_runtime.attempt.begin_tool import begin_tool
from psych_runtime.attempt.call_model import call_model
from psych_runtime.attempt.context import AttemptContext
from psych_runtime.attempt.cut import Cut, CutReason
from psych_runtime.attempt.first import first_of
from psych_runtime.attempt.flights import Performer, Work
from psych_runtime.attempt.inbox import Brought
from psych_runtime.attempt.probe_tool import probe_tool
from psych_runtime.attempt.run_tool import run_tool


def performer(attempt: AttemptContext) -> Performer:
    """Performs effects for one Attempt. What it observed in the world is kept, whoever wrote meanwhile."""

    async def perform(effect: Work, cut: Cut) -> Brought:
        if isinstance(effect, CallModel):
            return _brought(effect, await _unless_cut(cut, lambda: call_model(effect, attempt)), observed=True)
        if effect.mode == "begin":
            record = await _unless_cut(cut, lambda: begin_tool(effect, attempt))
            return _brought(effect, record, observed=False)
        if effect.mode == "run":
            return _brought(effect, await run_tool(effect, attempt, cut), observed=True)
        probed = await first_of(lambda: probe_tool(effect, attempt), cut.wait)
        record, observed = (None, True) if isinstance(probed, CutReason) else probed
        return _brought(effect, record, observed=observed)

    return perform


async def no_performer(effect: Work, cut: Cut) -> Brought:
    """For an Attempt that only settles what is due: the engine asks it for nothing."""
    del cut
    raise AssertionError(f"{effect} was asked of an Attempt that only settles")


async def _unless_cut(cut: Cut, made: Callable[[], Awaitable[Record]]) -> Record | None:
    record = await first_of(made, cut.wait)
    return None if isinstance(record, CutReason) else record


def _brought(effect: Work, record: Record | None, *, observed: bool) -> Brought:
    return Brought(effect, () if record is None else (record,), observed)

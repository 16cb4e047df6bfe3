"""Carries effects out: one performer each, and what it brought back."""

from __future__ import annotations

from psych_runtime.attempt.begin_tool import begin_tool
from psych_runtime.attempt.call_model import call_model
from psych_runtime.attempt.context import AttemptContext
from psych_runtime.attempt.cut import Cut
from psych_runtime.attempt.flights import Performer, Work
from psych_runtime.attempt.inbox import Brought
from psych_runtime.attempt.probe_tool import probe_tool
from psych_runtime.attempt.run_tool import run_tool
from psych_runtime.egress.hop import run_in_audit
from psych_runtime_core.engine.effects import CallModel
from psych_runtime_core.records import Record


def performer(attempt: AttemptContext) -> Performer:
    """Performs effects for one Attempt. What it observed in the world is kept, whoever wrote meanwhile."""

    async def perform(effect: Work, cut: Cut) -> Brought:
        with run_in_audit(attempt.state.run_id):
            return await _perform(effect, attempt, cut)

    return perform


async def no_performer(effect: Work, cut: Cut) -> Brought:
    """For an Attempt that only settles what is due: the engine asks it for nothing."""
    del cut
    raise AssertionError(f"{effect} was asked of an Attempt that only settles")


async def _perform(effect: Work, attempt: AttemptContext, cut: Cut) -> Brought:
    if not isinstance(effect, CallModel) and effect.mode == "run":
        return _brought(effect, await run_tool(effect, attempt, cut), observed=True)
    with cut.heeded():
        return await _performed(effect, attempt)
    return _brought(effect, None, observed=True)


async def _performed(effect: Work, attempt: AttemptContext) -> Brought:
    if isinstance(effect, CallModel):
        return _brought(effect, await call_model(effect, attempt), observed=True)
    if effect.mode == "begin":
        return _brought(effect, await begin_tool(effect, attempt), observed=False)
    found = await probe_tool(effect, attempt)
    return _brought(effect, found.record, observed=found.seen)


def _brought(effect: Work, record: Record | None, *, observed: bool) -> Brought:
    return Brought(effect, () if record is None else (record,), observed)

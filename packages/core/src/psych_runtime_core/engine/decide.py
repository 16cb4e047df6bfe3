"""The front of the engine: what may be done now about a Run."""

from __future__ import annotations

from datetime import datetime

from psych_runtime_core.engine.effects import Append, Effect, Park, Settle
from psych_runtime_core.engine.ending import Cause, root_end, stop_cause, stopping
from psych_runtime_core.engine.plan import Plan, Plans, plan_of
from psych_runtime_core.engine.turn import lane_effects
from psych_runtime_core.records.wait import Resumed
from psych_runtime_core.schema import violations
from psych_runtime_core.state.run import RunPhase, RunStateView

OVER = frozenset({RunPhase.NEW, RunPhase.SETTLED})


def next_effects(plans: Plans, state: RunStateView, now: datetime) -> tuple[Effect, ...]:
    """Everything that may be in flight now, then one `Park`; or `Append`s alone; or one `Settle` alone.

    A pure function of its arguments. Raises `VersionNotFound` when the Run's Version is needed and not there.
    """
    if state.phase in OVER:
        return ()
    effects = _due(state, now)
    if effects is None:
        effects = _agent(plan_of(plans, state.version_hash), state, now)
    return _answer(state, effects, now)


def due_effects(state: RunStateView, now: datetime) -> tuple[Effect, ...]:
    """What is due whatever the Version says: an abort, a deadline, an expiry. Empty when nothing is."""
    effects = None if state.phase in OVER else _due(state, now)
    return () if effects is None else _answer(state, effects, now)


def _due(state: RunStateView, now: datetime) -> tuple[Effect, ...] | None:
    cause = stop_cause(state, now)
    if cause is not None:
        return stopping(state, cause)
    expired = tuple(
        Resumed(lane=wait.lane, wait_id=wait.wait_id, cause="expired")
        for wait in state.open_waits
        if wait.due_at <= now
    )
    return (Append(expired),) if expired else None


def _agent(plan: Plan, state: RunStateView, now: datetime) -> tuple[Effect, ...]:
    lane = state.lanes[""]
    faults = (
        violations(state.input, plan.spec.input_schema) if lane.turn == 0 and plan.spec.input_schema else ()
    )
    if faults:
        return stopping(state, Cause.INPUT, "; ".join(map(str, faults)))
    answer = lane_effects(plan, state, lane, now)
    return answer if isinstance(answer, tuple) else root_end(answer)


def _answer(state: RunStateView, effects: tuple[Effect, ...], now: datetime) -> tuple[Effect, ...]:
    alone = tuple(effect for effect in effects if isinstance(effect, Append | Settle))
    return alone or (*effects, Park(_until(state, now)))


def _until(state: RunStateView, now: datetime) -> datetime | None:
    moments = [wait.due_at for wait in state.open_waits]
    moments += [lane.retry_at for lane in state.lanes.values() if lane.retry_at is not None]
    if state.effective_deadline_at is not None:
        moments.append(state.effective_deadline_at)
    return min((moment for moment in moments if moment > now), default=None)

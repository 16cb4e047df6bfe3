"""What follows from a model call that failed: another try, of which model and when, or the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta

from psych_runtime_core.engine import wording
from psych_runtime_core.engine.effects import ModelProblem
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.records.turn import ModelCallFailed
from psych_runtime_core.state.lane import WITHDRAWN, LaneState
from psych_runtime_core.state.run import RunStateView

# A first pause of half a second, doubled each round up to half a minute.
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
Choice = tuple[str, datetime | None]


def retry_delay(n: int, retry_after: float | None, key: str) -> float:
    """Seconds before round `n` + 1 (n >= 1), spread by `key`; never less than the provider's own hint."""
    drawn = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8]
    spread = int.from_bytes(drawn, "big") / 2.0**64
    if retry_after is not None:
        return retry_after + spread * min(retry_after / 10, 5.0)
    pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(n - 1, 10), LONGEST_PAUSE_SECONDS)
    return pause * (0.5 + spread / 2)


def failed_call(
    plan: Plan, state: RunStateView, lane: LaneState, problem: ModelProblem, now: datetime
) -> ModelCallFailed:
    """The record of a failed try, with what follows decided in it."""
    chosen = _choice(plan, state, lane, problem, now)
    failure, choice = problem.failure, None if isinstance(chosen, str) else chosen
    if isinstance(chosen, str):
        failure = failure.model_copy(update={"message": chosen})
    return ModelCallFailed(
        lane=lane.lane,
        turn=lane.turn,
        try_number=lane.try_number,
        model=lane.model or plan.ring[0],
        failure=failure,
        next="stop" if choice is None else "retry",
        next_model=None if choice is None else choice[0],
        retry_at=None if choice is None else choice[1],
        begun=problem.begun,
        usage=problem.usage,
        cost=problem.cost,
        timings=problem.timings,
        sent=problem.sent,
    )


def _choice(
    plan: Plan, state: RunStateView, lane: LaneState, problem: ModelProblem, now: datetime
) -> Choice | str | None:
    """What is asked next; nothing, where nothing helps; what is told, where it could and may not be done."""
    failure = problem.failure
    if not (failure.transient or failure.says_no_such_model):
        return None
    budget = plan.limits.transient_retry_budget
    if lane.retries_used >= budget:
        return wording.retries_spent(failure.message, budget) if failure.transient else None
    model = lane.model or plan.ring[0]
    hint = timedelta(seconds=failure.retry_after_seconds or 0.0)
    not_before = {**lane.tried, model: WITHDRAWN if failure.says_no_such_model else now + hint}
    later = plan.ring[plan.ring.index(model) + 1 :]
    for name in later:
        if not_before.get(name, now) <= now:
            return name, None
    return _next_round(plan, state, lane, problem, not_before, now)


def _next_round(
    plan: Plan,
    state: RunStateView,
    lane: LaneState,
    problem: ModelProblem,
    not_before: Mapping[str, datetime],
    now: datetime,
) -> Choice | str | None:
    n = lane.rounds + 1
    key = f"{state.run_id}:{lane.lane}:{lane.turn}:{n}"
    model = lane.model or plan.ring[0]
    moments: dict[str, datetime] = {}
    for name in plan.ring:
        if not_before.get(name) == WITHDRAWN:
            continue
        if name == model:
            pause = retry_delay(n, problem.failure.retry_after_seconds, key)
        else:
            pause = _pause_of_another(n, not_before.get(name, now) - now, key)
        moments[name] = now + timedelta(seconds=pause)
    if not moments:
        return None
    name = min(moments, key=lambda one: moments[one])
    deadline, at = state.effective_deadline_at, moments[name]
    if deadline is None or at < deadline:
        return name, at
    return _too_late(problem.failure, at - now, deadline - now)


def _too_late(failure: ToolFailure, pause: timedelta, left: timedelta) -> str | None:
    if not failure.transient:
        return None
    hint = failure.retry_after_seconds
    return wording.retry_too_late(failure.message, hint, pause.total_seconds(), left.total_seconds())


def _pause_of_another(n: int, left: timedelta, key: str) -> float:
    """Seconds until a model that did not fail now may be called; `left` is what its own hint still asks.

    Runs that were refused together have equal hints, so what is left of one is spread as well.
    """
    pause = retry_delay(n, None, key)
    return max(pause, retry_delay(n, left.total_seconds(), key)) if left > timedelta() else pause

"""What a tool is told of the Run it serves."""

from __future__ import annotations

from datetime import datetime, timedelta

from psych_runtime.attempt.context import AttemptContext, Begun
from psych_runtime.tools.context import ToolContext
from psych_runtime_core.ids import derive_idempotency_key
from psych_runtime_core.state.calls import CallState


def context_of(attempt: AttemptContext, call: CallState, begun: Begun) -> ToolContext:
    """The context of one run of `call`, which begins now."""
    return ToolContext(
        scope=attempt.state.scope,
        run_id=attempt.state.run_id,
        call_id=call.call_id,
        tool=begun.tool.name,
        lane=call.lane,
        turn=call.turn,
        run_number=max(call.run_number, 1),
        idempotency_key=derive_idempotency_key(attempt.state.run_id, call.call_id),
        deadline=_deadline(attempt, begun),
        runtime=attempt.runtime,
    )


def _deadline(attempt: AttemptContext, begun: Begun) -> datetime | None:
    ends = [attempt.state.effective_deadline_at]
    if begun.terms.timeout_seconds is not None:
        ends.append(attempt.clock.now() + timedelta(seconds=begun.terms.timeout_seconds))
    return min((end for end in ends if end is not None), default=None)

"""What a tool may know of the Run it serves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from threading import Event

from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.scope import Scope


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """Whose Run a call serves, and which call it is; given to the parameter that is annotated with it.

    `run_number` counts the runs of this call, from 1. `idempotency_key` is equal over all of them and
    different for any other call. `deadline` is the earlier of the Run's and the call's own, aware.
    """

    scope: Scope
    run_id: RunId
    call_id: ToolCallId
    tool: str
    lane: str = ""
    turn: int = 1
    run_number: int = 1
    idempotency_key: str
    deadline: datetime | None = None
    _cut: Event = field(default_factory=Event, init=False, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more: a loop in a thread looks here and ends."""
        return self._cut.is_set()


def cut_short(context: ToolContext) -> None:
    """Turn `context.cancelled` true."""
    context._cut.set()  # pyright: ignore[reportPrivateUsage]  # a tool is not given a way to cut itself

"""What an answer becomes: the record that resumes a Wait, nothing where it stands already, or a refusal."""

from __future__ import annotations

from datetime import datetime

from psych_runtime.api.answers import Answer
from psych_runtime.api.asked import AskedRun
from psych_runtime_core.errors import (
    RunAlreadySettled,
    RunNotSuspended,
    SuspensionExpired,
    WaitAmbiguous,
    WaitNotFound,
)
from psych_runtime_core.ids import WaitId, call_digest
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.state.run import RunPhase

OVER = frozenset({RunPhase.STOPPING, RunPhase.SETTLED})


def decision(run: AskedRun, named: str | None, answer: Answer, by: str | None, now: datetime) -> Resumed | None:
    """The record of `answer`, unstamped; None when the log holds an equal one by the same person.

    `named` is the Wait, None the one that is open. Raises `RunNotSuspended`, `WaitAmbiguous`, `WaitNotFound`,
    `SuspensionExpired`, `RunAlreadySettled`, `ValueError`.
    """
    wait_id = _only_wait(run) if named is None else WaitId(named)
    asked = run.asked.get(wait_id)
    record = _record(run, asked, answer, by) if asked else None
    given = run.answered.get(wait_id)
    if given is not None:
        _require_equal(run, given, record, named)
        return None
    _require_open(run, wait_id, now)
    if answer.approved is None:
        raise _of_no_use(run, wait_id, named)
    return record


def _only_wait(run: AskedRun) -> WaitId:
    """The one Wait that is open, or was just answered and nobody acted on it yet."""
    if run.state.phase in OVER:
        raise RunAlreadySettled(run.state.run_id)
    waiting = run.state.open_waits or tuple(run.state.waits.values())
    if not waiting:
        raise RunNotSuspended(run.state.run_id)
    if len(waiting) > 1 and run.state.open_waits:
        raise WaitAmbiguous(run.state.run_id, [wait.wait_id for wait in waiting])
    return waiting[-1].wait_id

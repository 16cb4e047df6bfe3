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
from psych_runtime_core.jsonvalue import EMPTY_OBJECT
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.state.run import RunPhase

OVER = frozenset({RunPhase.STOPPING, RunPhase.SETTLED})


def decision(
    run: AskedRun, named: str | None, answer: Answer, by: str | None, now: datetime
) -> Resumed | None:
    """The record of `answer`, unstamped; None when the log holds an equal one by the same person.

    `named` is the Wait, None the one that is open. Raises `RunNotSuspended`, `WaitAmbiguous`, `WaitNotFound`,
    `SuspensionExpired`, `RunAlreadySettled`, `ValueError`.
    """
    wait_id = _only_wait(run) if named is None else WaitId(named)
    asked, given = run.asked.get(wait_id), run.answered.get(wait_id)
    record = _record(run, asked, answer, by) if asked else None
    if given is not None and given.cause == "answer" and record is not None and _equal(given, record):
        return None
    _require_open(run, wait_id, named, now)
    if answer.approved is None:
        raise _no_decision(run, wait_id, named)
    return record


def _only_wait(run: AskedRun) -> WaitId:
    """The one Wait that is open; else the one that was answered and that nobody acted on yet."""
    if run.state.phase in OVER:
        raise RunAlreadySettled(run.state.run_id)
    waiting = run.state.open_waits
    if len(waiting) > 1:
        raise WaitAmbiguous(run.state.run_id, [wait.wait_id for wait in waiting])
    held = waiting or tuple(run.state.waits.values())
    if len(held) != 1:
        raise RunNotSuspended(run.state.run_id)
    return held[0].wait_id


def _record(run: AskedRun, asked: Suspended, answer: Answer, by: str | None) -> Resumed:
    shown, may_run = asked.arguments_digest, None
    if answer.approved:
        edits = answer.arguments
        may_run = shown if edits is None else call_digest(run.state.digest_salt, asked.tool, edits)
    return Resumed(
        lane=asked.lane,
        wait_id=asked.wait_id,
        approved=answer.approved,
        payload=answer.payload or EMPTY_OBJECT,
        arguments=answer.arguments if may_run != shown else None,
        shown_digest=shown,
        arguments_digest=may_run,
        remember=answer.remember,
        resumed_by=by,
    )


def _equal(given: Resumed, answer: Resumed) -> bool:
    """Whether two answers to one Wait say the same."""
    said, says = (
        (each.approved, each.payload, each.arguments_digest, each.remember, each.resumed_by)
        for each in (given, answer)
    )
    return said == says


def _require_open(run: AskedRun, wait_id: WaitId, named: str | None, now: datetime) -> None:
    run_id, given, wait = run.state.run_id, run.answered.get(wait_id), run.state.waits.get(wait_id)
    if given is not None and given.cause == "expired":
        raise SuspensionExpired(run_id, wait_id)
    if given is not None:
        raise WaitNotFound(run_id, wait_id, "it was answered already") if named else RunNotSuspended(run_id)
    if run.state.phase in OVER:
        raise RunAlreadySettled(run_id)
    if wait is None:
        gone = wait_id in run.asked
        raise WaitNotFound(run_id, wait_id, "it is not open any more" if gone else "there is none of this id")
    if wait.due_at <= now:
        raise SuspensionExpired(run_id, wait_id)


def _no_decision(run: AskedRun, wait_id: WaitId, named: str | None) -> Exception:
    """The error of an answer that is no decision, given to an approval."""
    cure = "it waits for a decision; say approved=True or approved=False"
    if named is None:
        return WaitNotFound(run.state.run_id, wait_id, cure)
    return ValueError(f"approved is missing for Wait {wait_id}: {cure}")

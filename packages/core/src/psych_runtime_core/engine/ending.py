"""How a Run that must stop closes what is open, and settles."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from psych_runtime_core.engine import wording
from psych_runtime_core.engine.effects import Append, Done, Effect, Failed, Settle
from psych_runtime_core.engine.results import ended
from psych_runtime_core.records import MAX_BODY_BYTES, Record, fits
from psych_runtime_core.records.facts import FailureKind, TerminalState, ToolFailure, ToolOutcome
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.run import RunStateView


class Cause(StrEnum):
    """Why a Run stops before its agent is done."""

    ABORT = "abort"
    ERASED = "erased"
    DEADLINE = "deadline"
    EXPIRED = "expired"
    INPUT = "input"


def stop_cause(state: RunStateView, now: datetime) -> Cause | None:
    """What forbids the Run to go on, None when nothing does. An abort beats all else."""
    if state.aborted:
        return Cause.ABORT
    if state.erased:
        return Cause.ERASED
    deadline = state.effective_deadline_at
    if deadline is not None and now >= deadline:
        return Cause.DEADLINE
    return Cause.EXPIRED if state.expired is not None else None


def stopping(state: RunStateView, cause: Cause, detail: str = "") -> tuple[Effect, ...]:
    """Close what is open, then settle. Calls this Attempt runs are the driver's to cut short."""
    closed = tuple(
        _closed(call) for lane in state.open_lanes for call in state.calls_of(lane.lane) if _dead(state, call)
    )
    if closed:
        return (Append(closed),)
    if state.calls:
        return ()
    return (Settle(_settled(state, cause, detail)),)


def closing(state: RunStateView, terminal: TerminalState, failure: ToolFailure | None) -> tuple[Record, ...]:
    """Every open call closed, and the end: for ends that only the Worker knows."""
    calls = (_closed(call) for lane in state.open_lanes for call in state.calls_of(lane.lane))
    return (*calls, RunSettled(state=terminal, failure=failure))


def root_end(end: Done | Failed) -> tuple[Effect, ...]:
    """How a Run settles whose agent is done. A value may be longer than the text it was read from."""
    if isinstance(end, Failed):
        return (Settle(RunSettled(state=TerminalState.FAILED, failure=end.failure)),)
    record = RunSettled(state=TerminalState.COMPLETED, output=end.output, answer_seq=end.answer_seq)
    return (Settle(record),) if fits(record) else root_end(Failed(answer_too_large()))


def answer_too_large() -> ToolFailure:
    """Of an answer that no record holds."""
    text = wording.answer_too_large(MAX_BODY_BYTES)
    return ToolFailure(kind=FailureKind.PERMANENT, message=text, code="answer_too_large")


def _dead(state: RunStateView, call: CallState) -> bool:
    return call.phase == "announced" or call.epoch < state.epoch


def _closed(call: CallState) -> ToolCallFinished:
    return ended(call, ToolOutcome.ABORTED if call.phase == "announced" else ToolOutcome.UNKNOWN)


def _settled(state: RunStateView, cause: Cause, detail: str) -> RunSettled:
    if state.gave_up:
        return _record(TerminalState.FORCE_SETTLED, FailureKind.FORCE_SETTLED, wording.force_settled())
    if cause is Cause.ABORT:
        return RunSettled(state=TerminalState.ABORTED)
    if cause is Cause.DEADLINE:
        return _record(TerminalState.ABORTED, FailureKind.DEADLINE, wording.deadline())
    if cause is Cause.EXPIRED:
        return _record(TerminalState.ABANDONED, FailureKind.SUSPENSION_EXPIRED, wording.suspension_expired())
    if cause is Cause.ERASED:
        return _record(TerminalState.FAILED, FailureKind.ERASED, wording.erased())
    return _record(TerminalState.FAILED, FailureKind.SCHEMA_VIOLATION, wording.bad_input(detail))


def _record(terminal: TerminalState, kind: FailureKind, message: str) -> RunSettled:
    return RunSettled(state=terminal, failure=ToolFailure(kind=kind, message=message))

"""What each record changes in a state. Every write goes through `put`, `drop` and `set`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records import Record
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import AbortRequested, AttemptStarted, RunAdmitted, RunSettled
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.state import call_changes, wait_changes
from psych_runtime_core.state.changed import changed
from psych_runtime_core.state.lane import WITHDRAWN, LaneAnswer, LanePhase, LaneState
from psych_runtime_core.state.queues import QueueEntry
from psych_runtime_core.state.run import Abort, RunStateView, Settlement


def change(state: RunStateView, record: Record) -> None:
    """Carry a legal record into the state."""
    _CHANGES[type(record)](state, record)
    state.set(head_seq=record.seq, head_at=record.at)
    if record.erased:
        state.set(erased=True)
    _count_parking(state, record.at)


def _count_parking(state: RunStateView, at: datetime) -> None:
    since = state.parked_since
    if state.parked == (since is not None):
        return
    if since is None:
        state.set(parked_since=at)
    else:
        seconds = max(0.0, (at - since).total_seconds())
        state.set(parked_since=None, parked_seconds=state.parked_seconds + seconds)


def _run_admitted(state: RunStateView, record: RunAdmitted) -> None:
    state.set(
        tenant=record.tenant,
        scope=record.scope,
        version_hash=record.version_hash,
        input=record.input,
        idempotency_key=record.idempotency_key,
        deadline_at=record.deadline_at,
        not_before=record.not_before,
        digest_salt=record.digest_salt,
        root_run_id=record.root_run_id,
    )
    state.put(state.lanes, "", LaneState(lane="", opened_seq=record.seq, version_hash=record.version_hash))


def _attempt_started(state: RunStateView, record: AttemptStarted) -> None:
    state.set(attempt_count=record.attempt_number, epoch=record.epoch, worker_id=record.worker_id)


def _abort_requested(state: RunStateView, record: AbortRequested) -> None:
    if state.abort is None:
        state.set(abort=Abort(record.seq, record.at, record.reason, record.requested_by))


def _run_settled(state: RunStateView, record: RunSettled) -> None:
    for lane in state.open_lanes:
        if lane.phase is LanePhase.CALLING:
            state.set(meter=state.meter.lost())
        state.drop(state.lanes, lane.lane)
    settlement = Settlement(record.state, record.output, record.failure, record.answer_seq, record.at)
    state.set(settled=settlement)


def _turn_started(state: RunStateView, record: TurnStarted) -> None:
    lane = state.lanes[record.lane]
    opened = changed(
        lane,
        phase=LanePhase.ASKING,
        version_hash=state.version_hash,
        turn=record.turn,
        try_number=0,
        rounds=0,
        failures=0,
        model=None,
        retry_at=None,
        failure=None,
        tried={},
        answer=None,
        streak_peak=0,
        repeat_peak=0,
        repairs=lane.repairs + (record.repair is not None),
    )
    state.put(state.lanes, record.lane, opened)


def _model_call_started(state: RunStateView, record: ModelCallStarted) -> None:
    lane = state.lanes[record.lane]
    if lane.phase is LanePhase.CALLING:
        state.set(meter=state.meter.lost())
    calling = changed(
        lane,
        phase=LanePhase.CALLING,
        try_number=record.try_number,
        model=record.model,
        call_epoch=record.epoch,
        call_seq=record.seq,
        retry_at=None,
    )
    state.put(state.lanes, record.lane, calling)


def _model_call_finished(state: RunStateView, record: ModelCallFinished) -> None:
    lane = state.lanes[record.lane]
    state.set(meter=state.meter.finished(record.usage, record.cost))
    _remember_sent(state, record)
    call_changes.announce(state, record)
    cut = record.finish_reason is FinishReason.LENGTH and bool(record.calls)
    refused = record.finish_reason is FinishReason.REFUSAL
    finished = changed(
        lane,
        phase=LanePhase.ACTING if record.calls else LanePhase.ANSWERED,
        finish_reason=record.finish_reason,
        announced=len(record.calls),
        unfinished=len(record.calls),
        calls_before=lane.calls_started,
        refused=(),
        cut_turns=lane.cut_turns + 1 if cut else 0,
        answer=None if record.calls else LaneAnswer(record.seq, record.text, refused),
    )
    state.put(state.lanes, record.lane, finished)


def _remember_sent(state: RunStateView, record: ModelCallFinished | ModelCallFailed) -> None:
    if record.sent is None:
        return
    if record.sent.prompt_hash not in state.prompts:
        state.put(state.prompts, record.sent.prompt_hash, record.seq)
    if record.sent.tools_hash not in state.toolsets:
        state.put(state.toolsets, record.sent.tools_hash, record.seq)


def _model_call_failed(state: RunStateView, record: ModelCallFailed) -> None:
    lane = state.lanes[record.lane]
    state.set(meter=state.meter.failed(record))
    _remember_sent(state, record)
    failed = changed(
        lane,
        phase=LanePhase.ASKING if record.will_retry else LanePhase.FAILED,
        model=record.next_model or lane.model,
        retry_at=record.retry_at,
        rounds=lane.rounds + (record.retry_at is not None),
        failures=lane.failures + 1,
        failure=None if record.will_retry else record.failure,
        tried={**lane.tried, record.model: _not_before(record)},
        retries_used=lane.retries_used + record.will_retry,
    )
    state.put(state.lanes, record.lane, failed)


def _not_before(record: ModelCallFailed) -> datetime:
    if record.failure.says_no_such_model:
        return WITHDRAWN
    return record.at + timedelta(seconds=record.failure.retry_after_seconds or 0.0)


def _queue_enqueued(state: RunStateView, record: QueueEnqueued) -> None:
    if record.entry_id in state.entry_ids:
        return
    entry = QueueEntry(record.entry_id, record.queue, record.payload, record.seq, record.at, record.sent_by)
    state.put(state.entry_ids, record.entry_id, record.seq)
    state.put(state.queue, record.entry_id, entry)


def _queue_consumed(state: RunStateView, record: QueueConsumed) -> None:
    state.drop(state.queue, record.entry_id)


_CHANGES: dict[type, Callable[[RunStateView, Any], None]] = {
    RunAdmitted: _run_admitted,
    AttemptStarted: _attempt_started,
    AbortRequested: _abort_requested,
    RunSettled: _run_settled,
    TurnStarted: _turn_started,
    ModelCallStarted: _model_call_started,
    ModelCallFinished: _model_call_finished,
    ModelCallFailed: _model_call_failed,
    ToolCallStarted: call_changes.tool_call_started,
    ToolCallFinished: call_changes.tool_call_finished,
    Suspended: wait_changes.suspended,
    Resumed: wait_changes.resumed,
    QueueEnqueued: _queue_enqueued,
    QueueConsumed: _queue_consumed,
}

"""What records change in Waits, and in the decisions that are remembered."""

from __future__ import annotations

from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.state.calls import Approved, CallState
from psych_runtime_core.state.changed import changed
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.state.waits import Remembered, Wait, WaitAnswer


def suspended(state: RunStateView, record: Suspended) -> None:
    call = state.calls[record.call_id]
    wait = Wait(
        wait_id=record.wait_id,
        lane=record.lane,
        reason=record.reason,
        call_id=record.call_id,
        due_at=record.due_at,
        opened_at=record.at,
        opened_seq=record.seq,
        tool=record.tool,
        tool_class=record.tool_class,
        arguments=call.arguments,
        arguments_digest=record.arguments_digest,
        question=record.question,
    )
    state.put(state.waits, record.wait_id, wait)
    holding = changed(call, wait_id=record.wait_id, waits_opened=call.waits_opened + 1)
    state.put(state.calls, record.call_id, holding)
    _hold(state, record.lane, 1)


def resumed(state: RunStateView, record: Resumed) -> None:
    wait = state.waits[record.wait_id]
    answer = WaitAnswer(
        cause=record.cause,
        approved=record.approved,
        payload=record.payload,
        arguments=record.arguments,
        arguments_digest=record.arguments_digest,
        remember=record.remember,
        by=record.resumed_by,
        at=record.at,
        seq=record.seq,
    )
    state.put(state.waits, record.wait_id, changed(wait, answer=answer))
    _hold(state, record.lane, -1)
    if record.cause == "expired":
        state.set(expired=record.wait_id)
        return
    if record.approved and record.arguments_digest is not None:
        call = changed(state.calls[wait.call_id], approved=Approved(wait.wait_id, record.arguments_digest))
        state.put(state.calls, wait.call_id, call)
    _remember(state, wait, record)


def close_wait(state: RunStateView, call: CallState) -> None:
    """The call moves on: the Wait it holds, open or answered, is gone."""
    if call.wait_id is None:
        return
    if state.waits[call.wait_id].answer is None:
        _hold(state, call.lane, -1)
    state.drop(state.waits, call.wait_id)


def _hold(state: RunStateView, lane: str, by: int) -> None:
    held = state.lanes[lane]
    state.put(state.lanes, lane, changed(held, held=held.held + by))


def _remember(state: RunStateView, wait: Wait, record: Resumed) -> None:
    if record.remember is None or record.approved is None:
        return
    digest = wait.arguments_digest if record.remember == "arguments" else None
    remembered = Remembered(wait.tool, digest, record.approved, wait.wait_id, record.resumed_by)
    state.put(state.remembered, (wait.tool, digest), remembered)

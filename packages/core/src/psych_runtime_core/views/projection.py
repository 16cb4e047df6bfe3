"""The fold for readers: the state, and beside it all that was said and done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psych_runtime_core.ids import RunId, ToolCallId, WaitId
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import FailureKind, OfferedTool
from psych_runtime_core.records.queue import QueueConsumed, QueueEnqueued
from psych_runtime_core.records.run import AbortRequested, AttemptStarted, RunAdmitted, RunSettled
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted, TurnStarted
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.state.fold import apply, empty
from psych_runtime_core.views.report_model import PromptReport
from psych_runtime_core.views.transcript import (
    AttemptRecords,
    CallRecords,
    EntryRecords,
    TryRecords,
    TurnRecords,
    WaitRecords,
)

Said = RunAdmitted | TurnStarted | QueueConsumed | ModelCallFinished | ToolCallFinished


@dataclass(frozen=True, slots=True)
class Withheld:
    """A call refused because its tool had failed `streak` times in a row; None: the tally was dropped."""

    refused: ToolCallFinished
    streak: int | None


class RunProjection:
    """A Run as its log shows it so far. `absorb` alone changes it; every view is a function of it.

    Each table is in the order of the log. `parked` holds the spans in which every lane waited, but for one
    that still lasts: `state.parked_since` is where that began.
    """

    def __init__(self, run_id: RunId) -> None:
        self.state = empty(run_id)
        self.admitted: RunAdmitted | None = None
        self.attempts: list[AttemptRecords] = []
        self.turns: list[TurnRecords] = []
        self.last_turns: dict[str, TurnRecords] = {}
        self.calls: dict[ToolCallId, CallRecords] = {}
        self.waits: dict[WaitId, WaitRecords] = {}
        self.entries: dict[str, EntryRecords] = {}
        self.aborts: list[AbortRequested] = []
        self.withheld: list[Withheld] = []
        self.prompts: dict[str, PromptReport] = {}
        self.last_prompt: PromptReport | None = None
        self.toolsets: dict[str, tuple[OfferedTool, ...]] = {}
        self.said: list[Said] = []
        self.parked: list[tuple[datetime, datetime]] = []

    def absorb(self, record: Record) -> None:
        """Carry `record` in, in amortised O(1). Raises `CorruptLog`, unchanged, when it may not follow."""
        parked_since = self.state.parked_since
        apply(self.state, record)
        _KEEP[type(record)](self, record)
        if record.epoch:
            self.attempts[-1].last_at = record.at
        if parked_since is not None and self.state.parked_since is None:
            self.parked.append((parked_since, record.at))

    @property
    def run_id(self) -> RunId:
        return self.state.run_id

    @property
    def tries(self) -> Iterator[TryRecords]:
        """Every request to a model, in the order of the turns."""
        return (each for turn in self.turns for each in turn.tries)


def project(records: Iterable[Record], *, run_id: RunId) -> RunProjection:
    """The projection of a log."""
    view = RunProjection(run_id)
    for record in records:
        view.absorb(record)
    return view


# --- what is kept of each record ---------------------------------------------------------------------


def _run_admitted(view: RunProjection, record: RunAdmitted) -> None:
    view.admitted = record
    view.said.append(record)


def _attempt_started(view: RunProjection, record: AttemptStarted) -> None:
    view.attempts.append(AttemptRecords(record, record.at))


def _abort_requested(view: RunProjection, record: AbortRequested) -> None:
    view.aborts.append(record)


def _run_settled(view: RunProjection, record: RunSettled) -> None:
    del record
    for turn in view.last_turns.values():
        _lose_open_try(turn)


def _turn_started(view: RunProjection, record: TurnStarted) -> None:
    turn = view.last_turns[record.lane] = TurnRecords(record)
    view.turns.append(turn)
    if record.repair is not None:
        view.said.append(record)


def _model_call_started(view: RunProjection, record: ModelCallStarted) -> None:
    turn = view.last_turns[record.lane]
    _lose_open_try(turn)
    turn.tries.append(TryRecords(record))


def _lose_open_try(turn: TurnRecords) -> None:
    if turn.tries and turn.tries[-1].is_open:
        turn.tries[-1].lost = True


def _model_call_finished(view: RunProjection, record: ModelCallFinished) -> None:
    turn = view.last_turns[record.lane]
    turn.tries[-1].ended = record
    written = record.tool_calls or (None,) * len(record.calls)
    turn.calls = tuple(CallRecords(record, ordinal, call) for ordinal, call in enumerate(written))
    view.calls.update((call.call_id, call) for call in turn.calls)
    view.said.append(record)
    _keep_sent(view, record)


def _model_call_failed(view: RunProjection, record: ModelCallFailed) -> None:
    view.last_turns[record.lane].tries[-1].ended = record
    _keep_sent(view, record)


def _keep_sent(view: RunProjection, record: ModelCallFinished | ModelCallFailed) -> None:
    if record.sent is None:
        return
    sent = record.sent
    prompt = PromptReport(sent.prompt_hash, sent.system_prompt, record.seq)
    view.last_prompt = view.prompts.setdefault(sent.prompt_hash, prompt)
    if sent.tools is not None:
        view.toolsets.setdefault(sent.tools_hash, sent.tools)


def _tool_call_started(view: RunProjection, record: ToolCallStarted) -> None:
    view.calls[record.call_id].starts.append(record)


def _tool_call_finished(view: RunProjection, record: ToolCallFinished) -> None:
    view.calls[record.call_id].finished = record
    view.said.append(record)
    if record.failure is not None and record.failure.kind == FailureKind.FAILURE_STREAK:
        streak = view.state.lanes[record.lane].streaks.get(record.tool)
        view.withheld.append(Withheld(record, streak.count if streak else None))


def _suspended(view: RunProjection, record: Suspended) -> None:
    wait = view.waits[record.wait_id] = WaitRecords(record)
    view.calls[record.call_id].waits.append(wait)


def _resumed(view: RunProjection, record: Resumed) -> None:
    view.waits[record.wait_id].resumed = record


def _queue_enqueued(view: RunProjection, record: QueueEnqueued) -> None:
    view.entries.setdefault(record.entry_id, EntryRecords(record))


def _queue_consumed(view: RunProjection, record: QueueConsumed) -> None:
    view.entries[record.entry_id].consumed = record
    view.said.append(record)


_KEEP: dict[type, Callable[[RunProjection, Any], None]] = {
    RunAdmitted: _run_admitted,
    AttemptStarted: _attempt_started,
    AbortRequested: _abort_requested,
    RunSettled: _run_settled,
    TurnStarted: _turn_started,
    ModelCallStarted: _model_call_started,
    ModelCallFinished: _model_call_finished,
    ModelCallFailed: _model_call_failed,
    ToolCallStarted: _tool_call_started,
    ToolCallFinished: _tool_call_finished,
    Suspended: _suspended,
    Resumed: _resumed,
    QueueEnqueued: _queue_enqueued,
    QueueConsumed: _queue_consumed,
}

"""Which record may follow in which phase, of a Run and of a lane, as two tables."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from psych_runtime_core.errors import CorruptionReason as Reason
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import TerminalState
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.state.lane import LanePhase
from psych_runtime_core.state.run import RunPhase

RunCell = Reason | None


class Group(StrEnum):
    """The types of records that are legal in the same phases of a Run."""

    ADMITS = "run_admitted"
    ALWAYS = "attempt_started, abort_requested"
    GIVES = "queue_enqueued, resumed"
    BEGINS = (
        "turn_started, queue_consumed, model_call_started, tool_call_started, suspended,"
        " run_settled(completed)"
    )
    ENDS = "model_call_finished, model_call_failed, tool_call_finished, any other run_settled"


_GROUP_OF_TYPE: Mapping[str, Group] = {record: group for group in Group for record in group.split(", ")}


def _row(new: RunCell, queued: RunCell, opened: RunCell, stopping: RunCell) -> Mapping[RunPhase, RunCell]:
    return {
        RunPhase.NEW: new,
        RunPhase.QUEUED: queued,
        RunPhase.OPEN: opened,
        RunPhase.STOPPING: stopping,
        RunPhase.SETTLED: Reason.RECORD_AFTER_FINISH,
    }


RUN_TABLE: Mapping[Group, Mapping[RunPhase, RunCell]] = {
    Group.ADMITS: _row(None, Reason.ADMITTED_TWICE, Reason.ADMITTED_TWICE, Reason.ADMITTED_TWICE),
    Group.ALWAYS: _row(Reason.NOT_ADMITTED, None, None, None),
    Group.GIVES: _row(Reason.NOT_ADMITTED, None, None, Reason.AFTER_ABORT),
    Group.BEGINS: _row(Reason.NOT_ADMITTED, Reason.STALE_EPOCH, None, Reason.AFTER_ABORT),
    Group.ENDS: _row(Reason.NOT_ADMITTED, Reason.STALE_EPOCH, None, None),
}

# A lane phase that is not named is `wrong_phase`; leaving work open has a reason of its own.
LANE_TABLE: Mapping[str, frozenset[LanePhase]] = {
    "turn_started": frozenset({LanePhase.READY, LanePhase.ANSWERED}),
    "queue_consumed": frozenset({LanePhase.ASKING}),
    "model_call_started": frozenset({LanePhase.ASKING, LanePhase.CALLING}),
    "model_call_finished": frozenset({LanePhase.CALLING}),
    "model_call_failed": frozenset({LanePhase.CALLING}),
    "tool_call_started": frozenset({LanePhase.ACTING}),
    "tool_call_finished": frozenset({LanePhase.ACTING}),
    "suspended": frozenset({LanePhase.ACTING}),
    "run_settled": frozenset(LanePhase) - {LanePhase.ACTING},
}


def group_of(record: Record) -> Group:
    """The row of `RUN_TABLE` that holds for `record`."""
    if isinstance(record, RunSettled):
        return Group.BEGINS if record.state is TerminalState.COMPLETED else Group.ENDS
    return _GROUP_OF_TYPE[record.type]

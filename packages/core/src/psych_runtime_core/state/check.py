"""Whether a record may follow a state. Facts decide, content never does."""

from __future__ import annotations

from psych_runtime_core.errors import CorruptionReason as Reason
from psych_runtime_core.records import Record
from psych_runtime_core.state.corruption import Breach
from psych_runtime_core.state.lane import LanePhase
from psych_runtime_core.state.legal import LANE_TABLE, RUN_TABLE, group_of
from psych_runtime_core.state.rules import own_rule
from psych_runtime_core.state.run import RunPhase, RunStateView

EXTERNAL = frozenset({"run_admitted", "abort_requested"})
EITHER = frozenset({"resumed", "queue_enqueued"})
LANE_RECORDS = frozenset(LANE_TABLE) - {"run_settled"} | {"resumed"}
FINAL_CELLS = frozenset({Reason.NOT_ADMITTED, Reason.ADMITTED_TWICE, Reason.RECORD_AFTER_FINISH})


def check(state: RunStateView, record: Record) -> Breach | None:
    """The rule that `record` would break as the next of this log, None when it may follow."""
    breach = _log(state, record)
    if breach is not None:
        return breach
    cell = RUN_TABLE[group_of(record)][state.phase]
    if cell is not None and cell in FINAL_CELLS:
        return _forbidden(state, record, cell)
    breach = _epoch(state, record) or _lane(state, record)
    if breach is not None:
        return breach
    if cell is not None:
        return _forbidden(state, record, cell)
    return _lane_phase(state, record) or own_rule(state, record)


def _log(state: RunStateView, record: Record) -> Breach | None:
    known = state.phase is not RunPhase.NEW
    found = (record.run_id, record.tenant if known else state.tenant, record.seq)
    expected = (state.run_id, state.tenant, state.head_seq + 1)
    return None if found == expected else Breach(Reason.WRONG_LOG, f"{found}, expected {expected}")


def _forbidden(state: RunStateView, record: Record, cell: Reason) -> Breach:
    return Breach(cell, f"{record.type} in a Run that is {state.phase}")


def _epoch(state: RunStateView, record: Record) -> Breach | None:
    if record.type in EXTERNAL:
        legal = record.epoch == 0
    elif record.type == "attempt_started":
        legal = record.epoch > state.epoch
    else:
        legal = record.epoch == state.epoch or (record.type in EITHER and record.epoch == 0)
    return (
        None if legal else Breach(Reason.STALE_EPOCH, f"epoch {record.epoch}, the Attempt has {state.epoch}")
    )


def _lane(state: RunStateView, record: Record) -> Breach | None:
    legal = record.lane in state.lanes if record.type in LANE_RECORDS else record.lane == ""
    return (
        None if legal else Breach(Reason.LANE_NOT_OPEN, f"lane {record.lane!r} is not open for {record.type}")
    )


def _lane_phase(state: RunStateView, record: Record) -> Breach | None:
    phases = LANE_TABLE.get(record.type)
    if phases is None or state.lanes[record.lane].phase in phases:
        return None
    phase = state.lanes[record.lane].phase
    reason = (
        Reason.OPEN_WORK if (record.type, phase) == ("run_settled", LanePhase.ACTING) else Reason.WRONG_PHASE
    )
    return Breach(reason, f"{record.type} in a lane that is {phase}")

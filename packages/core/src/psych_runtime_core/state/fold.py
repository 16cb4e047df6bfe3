"""The fold: from records to state, live and from the beginning alike."""

from __future__ import annotations

from collections.abc import Iterable

from psych_runtime_core.errors import CorruptLog
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import HeaderFacts
from psych_runtime_core.records import Record
from psych_runtime_core.state.changes import change
from psych_runtime_core.state.check import check
from psych_runtime_core.state.run import RunStateView

# A header lists so many open Waits at most; an inbox of approvals needs the oldest.
WAITS_IN_HEADER = 64


def empty(run_id: RunId) -> RunStateView:
    """The state of a log without records."""
    return RunStateView(run_id)


def apply(state: RunStateView, record: Record) -> None:
    """Carry `record` into `state`, in amortised O(1).

    Raises `CorruptLog`, and changes nothing, when it may not follow.
    """
    _require_legal(state, record)
    change(state, record)


def fold(records: Iterable[Record], *, run_id: RunId, state: RunStateView | None = None) -> RunStateView:
    """The state after `records`, from the empty one or from `state`, which is changed."""
    folded = empty(run_id) if state is None else state
    for record in records:
        apply(folded, record)
    return folded


def stage(state: RunStateView, record: Record) -> None:
    """`apply`, as part of an uncommitted tail that `rewind` can take back."""
    _require_legal(state, record)
    state.undo.staging = True
    change(state, record)


def keep(state: RunStateView) -> None:
    """The uncommitted tail is stored and stands."""
    state.undo.keep()


def rewind(state: RunStateView) -> None:
    """Take the uncommitted tail back, in time proportional to its records."""
    state.undo.rewind()


def facts_of(state: RunStateView) -> HeaderFacts:
    """What the header says of a Run whose log folds to `state`."""
    return HeaderFacts(
        version_hash=state.version_hash,
        deadline_at=state.effective_deadline_at,
        parked=state.parked,
        waits=tuple((wait.reason, wait.opened_seq) for wait in state.open_waits[:WAITS_IN_HEADER]),
        pending=len(state.queue),
        stopping=state.aborted,
        blobs=state.blobs,
        attempt_count=state.attempt_count,
    )


def _require_legal(state: RunStateView, record: Record) -> None:
    breach = check(state, record)
    if breach is not None:
        raise CorruptLog(breach.reason, record.run_id, record.seq, breach.detail)

"""What a Run is, folded from its log when asked: same log, same view."""

from __future__ import annotations

from psych_runtime.api.access import header_of, scope_of
from psych_runtime.api.arguments import identifier, of_kind
from psych_runtime.api.log import LogReader
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.fold import empty, fold
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.views.answer import AnswerView, answer_of
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.report import report_of
from psych_runtime_core.views.report_model import RunReport
from psych_runtime_core.views.status import RunStatus, status_of
from psych_runtime_core.views.thread import ThreadView, thread_of


async def state(
    store: Store, run_id: RunId | str, *, prior: RunStateView | None = None, scope: Scope | None = None
) -> RunStateView:
    """The state the log folds to. Onto `prior`, a view of this Run, only what is new is folded.

    `prior` itself is changed and returned. Raises `ValueError` for one of another Run, `RunNotFound`,
    `AccessDenied`, `CorruptLog`, `RecordTooNew`.
    """
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    folded = empty(run) if prior is None else of_kind("prior", prior, RunStateView)
    if folded.run_id != run:
        raise ValueError(f"prior is a view of {folded.run_id}; give one of {run}, or None")
    header = await header_of(store, run, held)
    if folded.head_seq < header.head.seq:
        reader = LogReader(store, header, folded.head_seq)
        while page := await reader.records():
            fold(page, run_id=run, state=folded)
    return folded


async def status(store: Store, run_id: RunId | str, *, scope: Scope | None = None) -> RunStatus:
    """Where the Run stands, what it waits for, what it used and cost so far.

    Raises `RunNotFound`, `AccessDenied`, `CorruptLog`, `RecordTooNew`.
    """
    return status_of(await _projection(store, run_id, scope))


async def answer(store: Store, run_id: RunId | str, *, scope: Scope | None = None) -> AnswerView:
    """What the Run answered, apart from the work that led there. `.result()` is the answer, or raises.

    Raises `RunNotFound`, `AccessDenied`, `CorruptLog`, `RecordTooNew`.
    """
    return answer_of(await _projection(store, run_id, scope))


async def thread(store: Store, run_id: RunId | str, *, scope: Scope | None = None) -> ThreadView:
    """What was said, in the order in which it was recorded.

    Raises `RunNotFound`, `AccessDenied`, `CorruptLog`, `RecordTooNew`.
    """
    return thread_of([await _projection(store, run_id, scope)])


async def report(store: Store, run_id: RunId | str, *, scope: Scope | None = None) -> RunReport:
    """Everything that the log shows of the Run. A cost or a usage that nobody knows is None, never 0.

    Raises `RunNotFound`, `AccessDenied`, `CorruptLog`, `RecordTooNew`.
    """
    view = await _projection(store, run_id, scope)
    return report_of(view, await store.get_version(view.state.version_hash))


async def _projection(store: Store, run_id: RunId | str, scope: Scope | None) -> RunProjection:
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    reader = LogReader(store, await header_of(store, run, held))
    view = RunProjection(run)
    while page := await reader.records():
        for record in page:
            view.absorb(record)
    return view

"""What follows from a log when it is folded, at each of its prefixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from psych_runtime.testing.auditing.judged import Fault, JudgedLog
from psych_runtime_core.errors import CorruptLog
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import Record
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.fold import apply, empty, fold, keep, rewind, stage
from psych_runtime_core.state.implied import implied_by
from psych_runtime_core.version import Version
from psych_runtime_core.views.answer import answer_of
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.report import report_of
from psych_runtime_core.views.status import status_of
from psych_runtime_core.views.thread import thread_of

# A long log is looked at in so many places, from its first record to its last.
PREFIXES = 200


def prefix_equal(log: JudgedLog) -> Iterator[Fault]:
    """Each prefix is legal, and folds to the state that a Worker had then, which stages and steps back."""
    plain, live = empty(log.run_id), empty(log.run_id)
    for record in log.records:
        try:
            apply(plain, record)
        except CorruptLog as error:
            yield Fault(record.seq, str(error))
            return
        stage(live, record)
        rewind(live)
        stage(live, record)
        keep(live)
        if plain != live:
            yield Fault(record.seq, "this prefix, staged and stepped back, gives another state")
            return


def header_agrees(log: JudgedLog) -> Iterator[Fault]:
    """The header says what the log says."""
    header = log.header
    if header is None or not log.records:
        return
    try:
        state = fold(log.records, run_id=log.run_id)
    except CorruptLog:
        return
    last = log.records[-1]
    implied = {**implied_by(log.entries, last, state), "scope": _scope(log, header)}
    for name, folded in implied.items():
        said = getattr(header, name)
        if said != folded:
            yield Fault(last.seq, f"the header says {name} {said}, the log {folded}")


def _scope(log: JudgedLog, header: RunHeader) -> Scope | None:
    """The Scope that the header must say: of the log, or what is left of it, where one of them is erased."""
    admitted = log.admitted
    if admitted is None:
        return None
    if admitted.erased and not header.erased:
        return header.scope.model_copy(update={"tenant": admitted.tenant})
    return Scope(tenant=admitted.tenant) if header.erased else admitted.scope


def views_build(log: JudgedLog) -> Iterator[Fault]:
    """Every view can be had of every prefix."""
    views = dict(VIEWS)
    if log.spec is not None:
        version = Version.of(log.spec)
        views["report"] = lambda view: report_of(view, version)
    looked_at = set(_sampled(log.records))
    projection = RunProjection(log.run_id)
    for record in log.records:
        try:
            projection.absorb(record)
        except CorruptLog:
            return
        if record.seq in looked_at:
            yield from _unbuilt(views, projection, record.seq)


VIEWS: Mapping[str, Callable[[RunProjection], object]] = {
    "status": status_of,
    "answer": answer_of,
    "thread": lambda view: thread_of([view]),
}


def _unbuilt(
    views: Mapping[str, Callable[[RunProjection], object]], projection: RunProjection, seq: int
) -> Iterator[Fault]:
    for name, build in views.items():
        try:
            build(projection)
        except Exception as error:
            yield Fault(seq, f"{name} of this prefix raises {type(error).__name__}: {error}")


def _sampled(records: Sequence[Record]) -> Iterator[int]:
    step = max(len(records) // PREFIXES, 1)
    yield from (record.seq for record in records[::step])
    yield from (record.seq for record in records[-1:])

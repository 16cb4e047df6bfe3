"""The fold and the views of a log against decoding its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

from benchmarks.agents import AGENT
from benchmarks.figure import Figure, at_most
from benchmarks.logs import LongLog, long_log, turns_for
from benchmarks.setting import Setting
from psych_runtime import Version
from psych_runtime_core.state.fold import fold
from psych_runtime_core.views.answer import answer_of
from psych_runtime_core.views.projection import project
from psych_runtime_core.views.report import report_of
from psych_runtime_core.views.status import status_of
from psych_runtime_core.views.thread import thread_of


def measure(setting: Setting) -> Iterator[Figure]:
    for full in (1_000, 10_000, 100_000):
        log = long_log(turns_for(setting.size(full)))
        decoding, folding, status = (
            milliseconds(work, log) for work in (LongLog.decode, folded, with_status)
        )
        size = len(log.entries)
        yield Figure(f"fold of {size} / decoding", "ms", *setting.alternate(folding, decoding), at_most(1))
        sides = setting.alternate(status, decoding)
        yield Figure(f"fold and status of {size} / decoding", "ms", *sides, at_most(3))
    small = long_log(turns_for(setting.size(10_000)), lines=0)
    sides = setting.alternate(milliseconds(folded, small), milliseconds(LongLog.decode, small))
    yield Figure(f"fold of {len(small.entries)} with empty results / decoding", "ms", *sides)
    log = long_log(turns_for(setting.size(10_000)))
    sides = setting.alternate(milliseconds(every_view, log), milliseconds(folded, log))
    yield Figure(f"all views of {len(log.entries)} / one fold", "ms", *sides, at_most(5))


def milliseconds(work: Callable[[LongLog], object], log: LongLog) -> Callable[[], float]:
    """A side of a round: what `work` costs on `log`."""

    def side() -> float:
        begun = process_time()
        work(log)
        return 1e3 * (process_time() - begun)

    return side


def folded(log: LongLog) -> object:
    return fold(log.records, run_id=log.run_id)


def with_status(log: LongLog) -> object:
    return status_of(project(log.records, run_id=log.run_id))


def every_view(log: LongLog) -> object:
    view = project(log.records, run_id=log.run_id)
    return status_of(view), answer_of(view), thread_of([view]), report_of(view, Version.of(AGENT))

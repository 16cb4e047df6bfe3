"""Everything that a log shows of a Run."""

from __future__ import annotations

from psych_runtime_core.version import Version
from psych_runtime_core.views.projection import RunProjection, Withheld
from psych_runtime_core.views.report_calls import model_call_report, suspension_report, tool_call_report
from psych_runtime_core.views.report_model import (
    AbortReport,
    AttemptReport,
    FailureStreakTrip,
    QueueEntryReport,
    RunReport,
)
from psych_runtime_core.views.totals import lanes_of, totals_of
from psych_runtime_core.views.transcript import AttemptRecords, EntryRecords


def report_of(view: RunProjection, version: Version) -> RunReport:
    """The report of the Run, whose Version is `version`."""
    state, settled = view.state, view.state.settled
    limits = version.spec.limits
    return RunReport(
        run_id=state.run_id,
        scope=state.scope,
        version_hash=state.version_hash,
        spec_name=version.spec.name,
        spec_kind=version.spec.kind,
        system_prompt=view.last_prompt.text if view.last_prompt else None,
        prompts=tuple(view.prompts.values()),
        attempts=tuple(_attempt(each) for each in view.attempts),
        lanes=tuple(lanes_of(view)),
        model_calls=tuple(model_call_report(view, each) for each in view.tries),
        tool_calls=tuple(tool_call_report(view, each) for each in view.calls.values()),
        suspensions=tuple(suspension_report(view, each) for each in view.waits.values()),
        queue=tuple(_entry(each) for each in view.entries.values()),
        failure_streak_trips=tuple(_trip(each, limits.failure_streak_threshold) for each in view.withheld),
        aborts=tuple(AbortReport(each.seq, each.at, each.reason, each.requested_by) for each in view.aborts),
        terminal_state=state.terminal_state,
        output=settled.output if settled else None,
        failure=settled.failure if settled else None,
        answer_seq=settled.answer_seq if settled else None,
        admitted_at=view.admitted.at if view.admitted else None,
        started_at=view.attempts[0].started.at if view.attempts else None,
        settled_at=settled.at if settled else None,
        deadline_at=state.deadline_at,
        parked_seconds=state.parked_seconds,
        totals=totals_of(view),
    )


def _attempt(records: AttemptRecords) -> AttemptReport:
    started = records.started
    return AttemptReport(
        attempt_number=started.attempt_number,
        epoch=started.epoch,
        worker_id=started.worker_id,
        library=started.library,
        started_at=started.at,
        last_at=records.last_at,
        reclaimed_expired_lease=started.reclaimed_expired_lease,
    )


def _entry(records: EntryRecords) -> QueueEntryReport:
    sent = records.enqueued
    return QueueEntryReport(
        entry_id=sent.entry_id,
        queue=sent.queue,
        payload=sent.payload,
        sent_by=sent.sent_by,
        at=sent.at,
        consumed_at=records.consumed.at if records.consumed else None,
    )


def _trip(withheld: Withheld, threshold: int) -> FailureStreakTrip:
    call = withheld.refused
    return FailureStreakTrip(call.lane, call.tool, call.call_id, withheld.streak, threshold, call.at)

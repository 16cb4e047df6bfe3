"""What a crash has changed, that it may not: a disturbed playing against the undisturbed one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from psych_runtime.testing.auditor import audit
from psych_runtime.testing.ledger import Invocation
from psych_runtime.testing.play import Pace, Played, PlayedRun
from psych_runtime.testing.scenario import Scenario, ScenarioNotDeterministic
from psych_runtime_core.ids import HANDLE, ToolCallId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records import Entry, Record
from psych_runtime_core.records.facts import FailureKind, TerminalState, ToolOutcome
from psych_runtime_core.records.queue import QueueEnqueued
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.wait import Resumed

OURS = frozenset({FailureKind.ATTEMPT_FAILED, FailureKind.STORE_LOST_ENTRIES})


def check_deterministic(first: Played, second: Played) -> None:
    """Raise `ScenarioNotDeterministic` where two undisturbed playings differ."""
    for one, other in zip(first.runs, second.runs, strict=True):
        ours, theirs = _shape(one.records), _shape(other.records)
        for place in range(max(len(ours), len(theirs))):
            pair = tuple(shape[place] if place < len(shape) else "no record" for shape in (ours, theirs))
            if pair[0] != pair[1]:
                raise ScenarioNotDeterministic(place + 1, *pair)


def _shape(records: Sequence[Record]) -> list[str]:
    return [f"{record.type}{_told(record)}" for record in records]


def _told(record: Record) -> str:
    match record:
        case ToolCallFinished():
            return f" of {record.tool}: {record.outcome}, {HANDLE.sub('handle', repr(record.result))}"
        case RunSettled():
            return f": {record.state}, {record.output!r}"
        case _:
            return ""


def violations(scenario: Scenario, baseline: Played, played: Played) -> Iterator[str]:
    """Every rule that a disturbed playing breaks."""
    for before, after in zip(baseline.runs, played.runs, strict=True):
        found = audit(after.entries, effects=played.effects, header=after.header, spec=scenario.spec)
        yield from (f"{each.code} at {each.seq}: {each.message}" for each in found)
        yield from _our_fault(after)
        yield from _forgotten(after)
        yield from _wrongly_unknown(after)
        if not unknown_calls(after) and _end(before) != _end(after):
            yield f"it ends {_end(after)}, undisturbed {_end(before)}"
    stored = {entry.digest for run in played.runs for entry in run.entries}
    lost = sum(digest not in stored for digest in played.heads)
    if lost:
        yield f"{lost} acknowledged commits are not in the log"
    if not any(map(unknown_calls, played.runs)) and _done(baseline.effects) != _done(played.effects):
        yield f"the tools did {_done(played.effects)}, undisturbed {_done(baseline.effects)}"


def too_late(baseline: Played, played: Played, pace: Pace) -> Iterator[str]:
    """Whether a Run took longer to recover than one lease, one poll and its work."""
    # Polls are spread by a fifth, and Workers who hear of work hold still for a moment.
    limit = baseline.seconds + pace.lease + 1.2 * pace.poll + 1.0
    if played.late > limit:
        yield f"it settled {played.late:.1f} s after the crash, {limit:.1f} are allowed"


def unknown_calls(run: PlayedRun) -> tuple[ToolCallId, ...]:
    """The calls that were cut in flight, so that nobody knows what became of them."""
    ends = (record for record in run.records if isinstance(record, ToolCallFinished))
    return tuple(end.call_id for end in ends if end.outcome is ToolOutcome.UNKNOWN)


def _wrongly_unknown(run: PlayedRun) -> Iterator[str]:
    """Of a Run that was stopped nothing is run again, however safe."""
    if run.header.terminal is not TerminalState.COMPLETED:
        return
    safe = {each.call_id for each in run.records if isinstance(each, ToolCallStarted) and each.safe_to_retry}
    yield from (f"{call} is unknown, and safe to run again" for call in unknown_calls(run) if call in safe)


def _our_fault(run: PlayedRun) -> Iterator[str]:
    """An end that no model, tool or person can bring about."""
    for record in run.records:
        if isinstance(record, RunSettled) and record.failure and record.failure.kind in OURS:
            yield f"it ends {record.failure.kind}: {record.failure.traceback or record.failure.message}"


def _forgotten(run: PlayedRun) -> Iterator[str]:
    kept: set[str] = set()
    for record in run.records:
        if isinstance(record, QueueEnqueued):
            kept.add(record.entry_id)
        elif isinstance(record, Resumed):
            kept.add(record.wait_id)
    yield from (
        f"{each} was acknowledged, and is not in the log" for each in run.acknowledged if each not in kept
    )


def _end(run: PlayedRun) -> tuple[str, Json]:
    settled = [record for record in run.records if isinstance(record, RunSettled)]
    if not settled:
        return "open", None
    failure = settled[-1].failure
    return settled[-1].state, failure.message if failure else settled[-1].output


def _done(effects: Iterable[Invocation]) -> list[tuple[str, str]]:
    """What was done, however often, without the ids that differ from Run to Run."""
    return sorted({(each.tool, each.arguments_digest) for each in effects})


def log_table(entries: Iterable[Entry]) -> str:
    """A log as people look at it first."""
    lines = [f"{entry.seq:>6}  {entry.epoch:>5}  {entry.type}" for entry in entries]
    return "\n".join(["   seq  epoch  record", *lines])

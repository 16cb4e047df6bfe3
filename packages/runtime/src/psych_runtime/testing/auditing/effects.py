"""What the tools really did, against what the log says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from psych_runtime.testing.auditing.judged import CallRecords, Fault, JudgedLog
from psych_runtime.testing.ledger import Invocation
from psych_runtime_core.ids import content_digest
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.spec.names import RESERVED_TOOL_NAMES


def unsafe_once(log: JudgedLog) -> Iterator[Fault]:
    """A call is begun again only where its tool says so, and no beginning of it runs twice."""
    for call_id, call in log.calls.items():
        again = next((start for start in call.starts[1:] if not _may_repeat(call)), None)
        if again is not None:
            yield Fault(again.seq, f"{call_id} is begun again, and is not safe to")
    runs = Counter((each.call_id, each.run_number) for each in log.effects or ())
    for (call_id, number), count in runs.items():
        if count > 1:
            yield Fault(_seq(log.calls.get(call_id)), f"run {number} of {call_id} happened {count} times")


def _may_repeat(call: CallRecords) -> bool:
    return call.starts[0].safe_to_retry or call.starts[0].probe


def ok_means_done(log: JudgedLog) -> Iterator[Fault]:
    """A call that is said to have ended well did: its tool came to an end, with that result.

    Of a result in a blob its end alone is known, and of the runtime's own tools no ledger is kept.
    """
    if log.effects is None:
        return
    for call_id, call in log.calls.items():
        for end in call.ends:
            if end.outcome is not ToolOutcome.OK or end.recovered or end.erased:
                continue
            done = [each for each in log.effects if each.call_id == call_id and each.finished_at is not None]
            if end.tool not in RESERVED_TOOL_NAMES and not any(_ended_so(each, end) for each in done):
                yield Fault(end.seq, f"{call_id} is ok, and no run of it ended with that result")


def _ended_so(done: Invocation, end: ToolCallFinished) -> bool:
    return end.result_blob_key is not None or done.result_digest == content_digest(b"", end.result)


def done_means_recorded(log: JudgedLog) -> Iterator[Fault]:
    """What was done stands in the log: that it began, and once the Run is settled that it is no refusal."""
    for each in log.effects or ():
        call = log.calls.get(each.call_id)
        if call is None or each.run_number not in {start.run_number for start in call.starts}:
            yield Fault(
                _seq(call), f"run {each.run_number} of {each.call_id} happened, and no record says so"
            )
        elif log.is_settled and _denied(call, each):
            yield Fault(_seq(call), f"{each.call_id} was done, and its log says that it was not")


def _denied(call: CallRecords, done: Invocation) -> bool:
    """Whether the log says of a run that came to an end that nothing of it happened."""
    outcomes = {end.outcome for end in call.ends}
    return done.finished_at is not None and (not outcomes or ToolOutcome.REFUSED in outcomes)


def _seq(call: CallRecords | None) -> int:
    if call is None:
        return 0
    return call.ends[-1].seq if call.ends else call.announced.seq

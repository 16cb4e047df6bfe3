"""What stands where in a log, and who wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from psych_runtime.testing.auditing.judged import Fault, JudgedLog
from psych_runtime_core.records import GENESIS
from psych_runtime_core.records.entry import chain as chained
from psych_runtime_core.records.run import AttemptStarted, RunAdmitted

OUTSIDE = frozenset({"run_admitted", "abort_requested"})
EITHER = frozenset({"resumed", "queue_enqueued"})


def gapless(log: JudgedLog) -> Iterator[Fault]:
    for expected, entry in enumerate(log.entries, 1):
        if entry.seq != expected:
            yield Fault(expected, f"entry {entry.seq} stands where {expected} comes")
            return


def admitted_first(log: JudgedLog) -> Iterator[Fault]:
    for place, entry in enumerate(log.entries):
        if (place == 0) != (entry.type == "run_admitted"):
            yield Fault(entry.seq, f"{entry.type} is record number {place + 1} of its log")


def settled_once_last(log: JudgedLog) -> Iterator[Fault]:
    for entry, following in zip(log.entries, log.entries[1:], strict=False):
        if entry.type == "run_settled":
            yield Fault(following.seq, f"{following.type} follows the end at {entry.seq}")


def epochs_rise(log: JudgedLog) -> Iterator[Fault]:
    """Each Attempt writes under its own epoch, and each epoch is above those before it."""
    current = 0
    for record in log.records:
        if isinstance(record, AttemptStarted):
            legal, current = record.epoch > current, max(record.epoch, current)
        elif record.type in OUTSIDE:
            legal = record.epoch == 0
        else:
            inside = record.epoch == current > 0
            legal = inside or (record.type in EITHER and record.epoch == 0)
        if not legal:
            yield Fault(record.seq, f"{record.type} is of epoch {record.epoch}, the Attempt has {current}")


def chain(log: JudgedLog) -> Iterator[Fault]:
    """Every digest follows from the body and the entry before, and every body can be read."""
    yield from log.unreadable
    head = GENESIS
    for entry in log.entries:
        if entry.digest != chained(head, entry.body):
            yield Fault(entry.seq, "the digest does not follow from the body and the entry before")
            return
        head = entry.head


def one_tenant(log: JudgedLog) -> Iterator[Fault]:
    tenants = {record.scope.tenant for record in log.all(RunAdmitted)}
    for record in log.records:
        if {record.tenant} != tenants:
            yield Fault(record.seq, f"a record of tenant {record.tenant!r} in a Run of {sorted(tenants)}")

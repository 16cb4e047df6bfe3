"""Faults of commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from anyio.lowlevel import checkpoint

from psych_runtime_contract.store.mutants.base import Mutant, MutantStore, over
from psych_runtime_core.errors import SeqConflict
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.writes import Append, HeaderAction, Write
from psych_runtime_core.records import Entry, Head
from psych_runtime_memory.runs import Runs


class AcceptsAGap(MutantStore):
    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        return await super().commit([closed(write) for write in writes])


def closed(write: Write) -> Write:
    """The write with seqs that follow, whatever they were."""
    seqs = range(write.after.seq + 1, write.after.seq + 1 + len(write.entries))
    return replace(write, entries=tuple(map(renumbered, write.entries, seqs)))


def renumbered(entry: Entry, seq: int) -> Entry:
    return replace(entry, seq=seq)


class AppendOfNothingTaken(MutantStore):
    """Where there is nothing to write, nothing is asked."""

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        written = [write for write in writes if write.entries or rests(write)]
        if written:
            await super().commit(written)
        return tuple(write.head for write in writes)


def rests(write: Write) -> bool:
    return isinstance(write, Append) and write.change.action is HeaderAction.REST


class IgnoresTheDigest(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        return super().commit([self._behind_any(write) for write in writes], now)

    def _behind_any(self, write: Write) -> Write:
        header = self._headers.get(write.run_id)
        if isinstance(write, Append) and header and header.head.seq == write.after.seq:
            return replace(write, after=header.head)
        return write


class OverwritesASeq(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        for write in writes:
            header = self._headers.get(write.run_id)
            if isinstance(write, Append) and header and 0 < write.after.seq < header.head.seq:
                del self._logs[write.run_id][write.after.seq :]
                self._headers[write.run_id] = header.model_copy(update={"head": write.after})
        return super().commit(writes, now)


class HalfABatch(Runs):
    def _write(self, write: Write, now: datetime) -> Head:
        head = super()._write(write, now)
        if len(write.entries) > 1:
            self._logs[write.run_id].pop()
        return head


class HeaderWithoutEntries(Runs):
    def _write(self, write: Write, now: datetime) -> Head:
        head = super()._write(write, now)
        if isinstance(write, Append) and write.entries:
            del self._logs[write.run_id][-len(write.entries) :]
        return head


class HeadsInTheOrderOfTheLocks(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        return super().commit(sorted(writes, key=lambda write: write.run_id), now)


class HalfACommit(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        heads = super().commit(writes[:1], now)
        return heads + tuple(write.head for write in writes[1:])


class RefusedWriteLeavesTheOthers(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        return tuple(head for write in writes for head in super(type(self), self).commit([write], now))


class LandedCommitRefused(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        for write in writes:
            header = self._headers.get(write.run_id)
            if header and write.entries and header.head == write.head:
                raise SeqConflict(write.run_id, header.head)
        return super().commit(writes, now)


class EntriesWithoutFacts(Runs):
    def _write(self, write: Write, now: datetime) -> Head:
        if isinstance(write, Append):
            write = replace(write, change=replace(write.change, facts=None))
        return super()._write(write, now)


class Unfinished(Runs):
    def cut(self, run_id: RunId) -> list[Entry]:
        """Take out what a log holds behind its first entry."""
        log = self._logs[run_id]
        self._logs[run_id] = log[:1]
        return log[1:]

    def add(self, run_id: RunId, entries: list[Entry]) -> None:
        self._logs[run_id] += entries


class AdmissionInTwoCommits(MutantStore):
    runs = Unfinished

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        run_id = await super().admit(header, entries)
        runs = cast("Unfinished", self._runs)
        later = runs.cut(run_id)
        for _ in range(3):
            await checkpoint()
        runs.add(run_id, later)
        return run_id


ALL_OR_NOTHING = "test_a_refused_write_names_its_run_and_the_others_are_not_written"
HEADS = "test_heads_are_told_in_the_order_of_the_writes"
PAST = "test_nothing_of_a_past_is_seen_before_all_of_it"
COMMITS = (
    Mutant(
        "accepts a gap",
        AcceptsAGap,
        "test_seqs_that_do_not_follow_are_refused",
        "DID NOT RAISE",
    ),
    Mutant(
        "an append of nothing is taken",
        AppendOfNothingTaken,
        "test_no_append_but_a_rest_may_be_empty",
        "DID NOT RAISE",
    ),
    Mutant(
        "ignores the digest",
        over(IgnoresTheDigest),
        "test_a_writer_that_knows_another_log_of_the_same_length_is_refused",
        "DID NOT RAISE",
    ),
    Mutant(
        "overwrites a seq",
        over(OverwritesASeq),
        ALL_OR_NOTHING,
        "DID NOT RAISE",
    ),
    Mutant(
        "half a batch",
        over(HalfABatch),
        "test_a_commit_writes_all_its_runs",
        r"one more item: Entry\(seq=3",
        also=(PAST,),
    ),
    Mutant(
        "header without entries",
        over(HeaderWithoutEntries),
        "test_a_commit_writes_all_its_runs",
        r"2 more items, first extra item: Entry\(seq=2",
    ),
    Mutant(
        "half a commit",
        over(HalfACommit),
        "test_a_commit_writes_all_its_runs",
        r"Head\(seq=1.* == Head\(seq=3",
        also=(ALL_OR_NOTHING,),
    ),
    Mutant(
        "heads in the order of the locks",
        over(HeadsInTheOrderOfTheLocks),
        HEADS,
        "Head",
    ),
    Mutant(
        "refused write leaves the others",
        over(RefusedWriteLeavesTheOthers),
        ALL_OR_NOTHING,
        "everything|RunHeader",
    ),
    Mutant(
        "landed commit refused",
        over(LandedCommitRefused),
        "test_a_commit_that_landed_is_repeated_without_effect",
        "SeqConflict",
        also=(HEADS,),
    ),
    Mutant(
        "entries without facts",
        over(EntriesWithoutFacts),
        "test_facts_are_replaced_whole_or_left",
        "HeaderFacts",
    ),
    Mutant(
        "admission in two commits",
        AdmissionInTwoCommits,
        PAST,
        r"assert \(RunHeader",
        machine=None,
    ),
)

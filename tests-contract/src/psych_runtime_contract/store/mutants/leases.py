"""Faults of leases, releases, wakes and what a header counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeGuard

from psych_runtime_contract.store.mutants.base import Mutant, MutantStore, over
from psych_runtime_core.errors import LeaseLost
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.claims import ClaimRequest, Claims, Renewed
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.writes import Append, HeaderAction, Write
from psych_runtime_core.records import Entry, Head
from psych_runtime_memory.runs import Runs

MICROSECOND = timedelta(microseconds=1)


class ReleaseIgnoresAfter(Runs):
    def release(self, lease: Lease, ready_at: datetime | None, after: Head | None, now: datetime) -> None:
        super().release(lease, ready_at, None, now)


class WakeOfARunningRunMakesItClaimable(Runs):
    def _write(self, write: Write, now: datetime) -> Head:
        head = super()._write(write, now)
        if isinstance(write, Append) and write.change.action is HeaderAction.WAKE:
            header = self._headers[write.run_id]
            self._keep(header.model_copy(update={"ready_at": min(header.ready_at or now, now)}), now)
        return head


class WakeForgotten(Runs):
    def _write(self, write: Write, now: datetime) -> Head:
        if isinstance(write, Append) and write.change.action is HeaderAction.WAKE:
            write = replace(write, change=replace(write.change, action=HeaderAction.KEEP))
        return super()._write(write, now)


class RestOvertakesAWake(Runs):
    """A rest goes behind whatever was written meanwhile."""

    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        return super().commit([self._rebased(write) for write in writes], now)

    def _rebased(self, write: Write) -> Write:
        header = self._headers.get(write.run_id)
        if not isinstance(write, Append) or write.change.action is not HeaderAction.REST or not header:
            return write
        seqs = range(header.head.seq + 1, header.head.seq + 1 + len(write.entries))
        entries = [replace(entry, seq=seq) for entry, seq in zip(write.entries, seqs, strict=True)]
        return replace(write, after=header.head, entries=tuple(entries))


class ARestWithoutEntriesOvertakesAWake(Runs):
    """With nothing to write, there is nothing that a head is compared for."""

    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        return super().commit([self._behind_any(write) for write in writes], now)

    def _behind_any(self, write: Write) -> Write:
        header = self._headers.get(write.run_id)
        return replace(write, after=header.head) if is_empty_append(write) and header else write


def is_empty_append(write: Write) -> TypeGuard[Append]:
    return isinstance(write, Append) and not write.entries


class FactsFromOutsideDropped(Runs):
    """While a Run is leased, its holder alone says what holds."""

    def _write(self, write: Write, now: datetime) -> Head:
        if isinstance(write, Append) and write.lease is None and self.header(write.run_id).lease:
            write = replace(write, change=replace(write.change, facts=None))
        return super()._write(write, now)


class ExpiredLeaseAppends(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        return super().commit(writes, min([now, *map(self._in_time, writes)]))

    def _in_time(self, write: Write) -> datetime:
        """A moment at which the lease that a write names has not expired."""
        header = self._headers.get(write.run_id)
        held = header.lease if header and isinstance(write, Append) and write.lease else None
        return held.expires_at - MICROSECOND if held else datetime.max.replace(tzinfo=NOW.tzinfo)


class RenewRevives(Runs):
    def renew(self, lease: Lease, lease_seconds: float, now: datetime) -> Renewed:
        header = self._headers.get(lease.run_id)
        held = header.lease if header else None
        if held and held.epoch == lease.epoch and held.expires_at <= now:
            now = held.expires_at - MICROSECOND
        return super().renew(lease, lease_seconds, now)


class RenewOfASettledLease(Runs):
    def renew(self, lease: Lease, lease_seconds: float, now: datetime) -> Renewed:
        header = self._headers.get(lease.run_id)
        if header and header.terminal and header.epoch == lease.epoch:
            return Renewed(lease, "kept", header.head)
        return super().renew(lease, lease_seconds, now)


class AnyWorkerOfTheEpoch(Runs):
    """Who names the epoch is taken for the holder, but by a plain append."""

    def _as_holder(self, lease: Lease) -> Lease:
        header = self._headers.get(lease.run_id)
        held = header.lease if header else None
        return replace(lease, worker_id=held.worker_id) if held and held.epoch == lease.epoch else lease

    def renew(self, lease: Lease, lease_seconds: float, now: datetime) -> Renewed:
        return super().renew(self._as_holder(lease), lease_seconds, now)

    def release(self, lease: Lease, ready_at: datetime | None, after: Head | None, now: datetime) -> None:
        super().release(self._as_holder(lease), ready_at, after, now)

    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        return super().commit([self._by_holder(write) for write in writes], now)

    def _by_holder(self, write: Write) -> Write:
        if isinstance(write, Append) and write.lease and write.change.action is not HeaderAction.KEEP:
            return replace(write, lease=self._as_holder(write.lease))
        return write


class ReleaseComparesTheSeqAlone(Runs):
    def release(self, lease: Lease, ready_at: datetime | None, after: Head | None, now: datetime) -> None:
        head = self.header(lease.run_id).head
        super().release(lease, ready_at, head if after and after.seq == head.seq else after, now)


class ReleaseJumpsTheQueue(Runs):
    def release(self, lease: Lease, ready_at: datetime | None, after: Head | None, now: datetime) -> None:
        super().release(lease, ready_at, after, now)
        if ready_at is not None and NOW < ready_at < now:
            self._keep(self.header(lease.run_id).model_copy(update={"ready_at": ready_at}), now)


class EpochKeptForTheSameWorker(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        before = self._headers.get(header.run_id)
        old, new = before.lease if before else None, header.lease
        if old and new and old.worker_id == new.worker_id:
            header = header.model_copy(
                update={"epoch": old.epoch, "lease": replace(new, epoch=old.epoch)},
            )
        super()._keep(header, now)


class CallersClock(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        for write in writes:
            if isinstance(write, Append) and write.lease and write.lease.expires_at <= now:
                raise LeaseLost(write.run_id, write.lease.worker_id)
        return super().commit(writes, now)


class FutureClaimed(Runs):
    def claim(self, asked: ClaimRequest, now: datetime) -> Claims:
        return super().claim(asked, now + MICROSECOND)


class FloatSecondsInReadyAt(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        if header.lease is None and header.ready_at and header.ready_at > now:
            seconds = float(int(header.ready_at.timestamp() * 1e3)) / 1e3
            header = header.model_copy(
                update={"ready_at": datetime.fromtimestamp(seconds, header.ready_at.tzinfo)}
            )
        super()._keep(header, now)


class CrashesCountsRests(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        before = self._headers.get(header.run_id)
        if before and before.lease and header.lease is None and header.terminal is None:
            header = header.model_copy(update={"crashes": header.crashes + 1})
        super()._keep(header, now)


class ProgressIgnored(Runs):
    def _write(self, write: Write, now: datetime) -> Head:
        if isinstance(write, Append):
            write = replace(write, change=replace(write.change, progress=False))
        return super()._write(write, now)


class ProgressIgnoredAtARest(Runs):
    def _write(self, write: Write, now: datetime) -> Head:
        if isinstance(write, Append) and write.change.action is HeaderAction.REST:
            write = replace(write, change=replace(write.change, progress=False))
        return super()._write(write, now)


class WaitsLoseSeqs(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        waits = tuple((reason, 0) for reason, _ in header.waits)
        super()._keep(header.model_copy(update={"waits": waits}), now)


class PendingDropped(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        super()._keep(header.model_copy(update={"pending": 0}), now)


class EpochsOf32Bits(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        super()._keep(header.model_copy(update={"epoch": header.epoch & 0xFFFF_FFFF}), now)


class SeqsOf32Bits(MutantStore):
    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        return await super().read(run_id, after & 0xFFFF_FFFF, limit)


TABLE = "test_an_operation_does_what_the_table_says_or_nothing"
UNTIL_WOKEN = "test_an_open_run_waits_to_be_woken_and_counts_its_epochs_on"
NO_WAKE_LOST = "test_no_order_of_calls_loses_a_wake"
EFFECT = "test_one_effect_that_ended_clears_the_crashes"
WITHOUT_ENTRIES = "test_a_rest_without_entries_behind_another_head_changes_nothing"
FACTS = "test_an_append_replaces_the_facts_in_every_condition_that_allows_it"
ANOTHER_LOG = "test_a_release_decided_on_another_log_of_that_length_changes_nothing"
LEASES = (
    Mutant(
        "release ignores `after`",
        over(ReleaseIgnoresAfter),
        "test_a_release_decided_on_another_head_changes_nothing",
        "DID NOT RAISE",
        also=(ANOTHER_LOG,),
    ),
    Mutant(
        "wake of a running Run makes it claimable",
        over(WakeOfARunningRunMakesItClaimable),
        TABLE,
        "ready_at",
    ),
    Mutant("wake forgotten", over(WakeForgotten), TABLE, "ready_at", also=(UNTIL_WOKEN,)),
    Mutant(
        "rest overtakes a wake",
        over(RestOvertakesAWake),
        NO_WAKE_LOST,
        "a Run that waits was not woken",
        also=(WITHOUT_ENTRIES,),
    ),
    Mutant(
        "a rest without entries overtakes a wake",
        over(ARestWithoutEntriesOvertakesAWake),
        WITHOUT_ENTRIES,
        "DID NOT RAISE",
    ),
    Mutant("facts from outside dropped", over(FactsFromOutsideDropped), FACTS, "HeaderFacts"),
    Mutant("expired lease appends", over(ExpiredLeaseAppends), TABLE, "DID NOT RAISE"),
    Mutant(
        "renew revives",
        over(RenewRevives),
        "test_no_lease_comes_back_to_life",
        "'kept' == 'lost'",
        also=(TABLE,),
    ),
    Mutant(
        "renew of a settled lease",
        over(RenewOfASettledLease),
        "test_a_lease_ends_with_its_run",
        r"'kept'",
    ),
    Mutant(
        "any Worker of the epoch",
        over(AnyWorkerOfTheEpoch),
        "test_another_workers_name_on_a_lease_opens_nothing",
        "DID NOT RAISE",
    ),
    Mutant(
        "release compares the seq alone",
        over(ReleaseComparesTheSeqAlone),
        ANOTHER_LOG,
        "DID NOT RAISE",
    ),
    Mutant("release jumps the queue", over(ReleaseJumpsTheQueue), TABLE, "ready_at"),
    Mutant(
        "epoch kept for the same Worker",
        over(EpochKeptForTheSameWorker),
        "test_a_worker_that_claims_again_has_a_dead_lease_and_a_live_one",
        "epoch|DID NOT RAISE|Lease",
        also=(TABLE, EFFECT),
    ),
    Mutant(
        "caller's clock",
        over(CallersClock),
        "test_no_clock_but_the_stores_says_that_a_lease_is_over",
        "LeaseLost",
    ),
    Mutant(
        "future claimed",
        over(FutureClaimed),
        "test_a_run_is_claimed_at_its_very_microsecond",
        "run_a",
        also=(TABLE,),
    ),
    Mutant(
        "float seconds in `ready_at`",
        over(FloatSecondsInReadyAt),
        "test_a_run_is_claimed_at_its_very_microsecond",
        "500001",
    ),
    Mutant(
        "crashes counts rests",
        over(CrashesCountsRests),
        "test_rests_and_releases_are_no_crashes",
        "crashes|== \\(0",
        also=(TABLE, EFFECT),
    ),
    Mutant("progress ignored", over(ProgressIgnored), EFFECT, "crashes"),
    Mutant("progress ignored at a rest", over(ProgressIgnoredAtARest), EFFECT, "crashes"),
    Mutant(
        "waits lose seqs",
        over(WaitsLoseSeqs),
        "test_facts_are_replaced_whole_or_left",
        "waits",
        also=(FACTS,),
    ),
    Mutant(
        "pending dropped",
        over(PendingDropped),
        "test_facts_are_replaced_whole_or_left",
        "pending",
        also=(FACTS,),
    ),
    Mutant(
        "32 bit epoch",
        over(EpochsOf32Bits),
        UNTIL_WOKEN,
        "epoch",
    ),
    Mutant("32 bit seq", SeqsOf32Bits, "test_a_page_holds_what_comes_after_a_seq", r"== \[\]"),
)

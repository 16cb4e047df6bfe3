"""The only writer of an Attempt: it holds the lease, the head and the state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from psych_runtime.attempt.hold import Hold
from psych_runtime.attempt.loaded import Loaded
from psych_runtime.attempt.patience import answered
from psych_runtime.attempt.reading import decoded, entries_after
from psych_runtime_core.engine.effects import Park
from psych_runtime_core.errors import CorruptLog, LeaseLost, SeqConflict
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Append, HeaderAction, HeaderChange
from psych_runtime_core.records import Entry, Head, Record, encode, stamp
from psych_runtime_core.records.run import AttemptStarted, RunSettled
from psych_runtime_core.state.check import check
from psych_runtime_core.state.fold import apply, facts_of, keep, rewind, stage

T = TypeVar("T")


class LogDiverged(Exception):
    """The stored log does not continue the one this Attempt folded: the store lost what it acknowledged."""

    def __init__(self, ours: Head, stored: object) -> None:
        self.ours, self.stored = ours, stored
        super().__init__(f"our log ended at {ours}, the stored one at {stored}")


class LostRace(Exception):
    """Somebody else wrote first. `observed` are the records that a performer saw happen in the world."""

    def __init__(self, observed: tuple[Record, ...]) -> None:
        self.observed = observed
        super().__init__("the log has moved on")


@dataclass(frozen=True, slots=True)
class Staged:
    """A record applied but not stored. Observed in the world: kept over a lost race, else decided again."""

    record: Record
    entry: Entry
    observed: bool


class Journal:
    """Stages records onto one Run and commits them, all or nothing, in memory too.

    `on_head` is told the head of each write before it is made, so that no write wakes its own writer;
    `is_behind` says that others are known to have written since.
    """

    def __init__(
        self,
        store: Store,
        loaded: Loaded,
        hold: Hold,
        opening: AttemptStarted,
        on_head: Callable[[Head], None],
    ) -> None:
        self.state, self.hold = loaded.state, hold
        self._store, self._loaded, self._opening, self._on_head = store, loaded, opening, on_head
        self._staged: list[Staged] = []
        self.is_behind = False
        self._open()

    @property
    def run_id(self) -> RunId:
        return self.state.run_id

    @property
    def head(self) -> Head:
        """Where the stored log ends, as far as this Attempt knows."""
        return self._loaded.head

    @property
    def has_work(self) -> bool:
        """Whether anything but the Attempt's own beginning is staged."""
        return any(staged.record.type != "attempt_started" for staged in self._staged)

    @property
    def staged_bytes(self) -> int:
        """The size of the bodies that the next commit holds."""
        return sum(len(staged.entry.body) for staged in self._staged)

    def stage(self, records: Iterable[Record]) -> None:
        """Apply what was decided onto the uncommitted tail. Raises `EntryTooLarge` before it is changed."""
        for record in records:
            self._put(self._stamped(record), observed=False)

    def stage_observed(self, records: Iterable[Record]) -> None:
        """Apply what was seen in the world, save about a call that somebody closed meanwhile."""
        for record in records:
            stamped = self._stamped(record)
            if check(self.state, stamped) is None:
                self._put(stamped, observed=True)

    async def commit(self, rest: Park | None = None) -> None:
        """Store what is staged; with `rest` the lease is given back in the same commit.

        Raises `LostRace` when the log moved, `LeaseLost` past the fence, `LogDiverged` when the store forgot.
        """
        self.hold.check()
        entries = tuple(staged.entry for staged in self._staged)
        write = Append(self.run_id, self.head, entries, self._change(rest), self.hold.lease)
        self._on_head(write.head)
        try:
            # A repeat of what landed is answered as the first time.
            (head,) = await self._ask(lambda: self._store.commit([write]))
        except SeqConflict as conflict:
            tail = await self._tail(conflict)
            if not _begins_with(tail, entries):
                raise self._lost(tail) from conflict
            # It landed, its answer was lost, and by now others wrote behind it. What began with it is carried
            # out before they are heard, or nobody would.
            self.is_behind, head = True, entries[-1].head
        self._stands(head)

    async def give_back(self, ready_at: datetime | None) -> None:
        """Release the lease without a record; what is staged is dropped. Raises as `commit` does."""
        rewind(self.state)
        self._staged.clear()
        try:
            await self._ask(lambda: self._store.release(self.hold.lease, ready_at, after=self.head))
        except SeqConflict as conflict:
            raise self._lost(await self._tail(conflict)) from conflict

    async def refresh(self) -> tuple[Record, ...]:
        """Fold what others wrote; the observed records that were staged come back to be staged again."""
        self.is_behind = False
        return self._lost(await self._tail(None)).observed

    def _open(self) -> None:
        if self.state.epoch < self.hold.lease.epoch:
            self._put(self._stamped(self._opening), observed=False)

    def _stamped(self, record: Record) -> Record:
        return stamp(
            record,
            run_id=self.run_id,
            seq=self.state.head_seq + 1,
            at=self._store.clock.now(),
            tenant=self.state.tenant,
            epoch=self.hold.lease.epoch,
        )

    def _put(self, stamped: Record, *, observed: bool) -> None:
        after = self._staged[-1].entry.head if self._staged else self.head
        entry = encode(stamped, after=after, scope=self.state.scope, codec=self._store.codec)
        stage(self.state, stamped)
        self._staged.append(Staged(stamped, entry, observed))

    def _change(self, rest: Park | None) -> HeaderChange:
        last = self._staged[-1].record if self._staged else None
        settled = last if isinstance(last, RunSettled) else None
        action = HeaderAction.SETTLE if settled else HeaderAction.REST if rest else HeaderAction.KEEP
        return HeaderChange(
            action=action,
            ready_at=rest.until if rest and not settled else None,
            terminal=settled.state if settled else None,
            facts=facts_of(self.state),
            progress=any(staged.observed for staged in self._staged),
        )

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T:
        return await answered(call, self.hold, self._store.clock)

    def _stands(self, head: Head) -> None:
        keep(self.state)
        staged, self._staged = self._staged, []
        self._loaded.head = head
        for one in staged:
            self._loaded.conversation.absorb(one.record)

    def _lost(self, tail: Iterable[Entry]) -> LostRace:
        """Fold the tail that others wrote, and begin the uncommitted tail anew."""
        observed = tuple(staged.record for staged in self._staged if staged.observed)
        rewind(self.state)
        self._staged = []
        self._fold(tail)
        self._open()
        return LostRace(observed)

    async def _tail(self, conflict: SeqConflict | None) -> list[Entry]:
        stored = conflict.head if conflict is not None else None
        if isinstance(stored, Head) and stored.seq <= self.head.seq and stored != self.head:
            raise LogDiverged(self.head, stored)
        try:
            return await self._ask(lambda: entries_after(self._store, self.run_id, self.head))
        except CorruptLog as broken:
            # Another log grew behind a head the store forgot; a whole fold tells that from damage.
            raise LogDiverged(self.head, stored) from broken

    def _fold(self, tail: Iterable[Entry]) -> None:
        for entry in tail:
            if entry.epoch > self.hold.lease.epoch:
                raise LeaseLost(self.run_id, self.hold.lease.worker_id)
            record = decoded(self._store, self.state.scope, self.run_id, entry)
            apply(self.state, record)
            self._loaded.head = entry.head
            self._loaded.conversation.absorb(record)


def _begins_with(tail: Sequence[Entry], entries: Sequence[Entry]) -> bool:
    """Whether these very entries stand first in `tail`: one digest tells of all before it."""
    ours = len(entries)
    return 0 < ours <= len(tail) and tail[ours - 1].digest == entries[-1].digest

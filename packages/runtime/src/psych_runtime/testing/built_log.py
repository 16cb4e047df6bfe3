"""A log as it is built: its records, what they fold to, and the ways to break it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Self

from psych_runtime.testing.clock import START
from psych_runtime.testing.implied_header import implied_header
from psych_runtime_core.errors import CorruptLog
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import GENESIS, Codec, Entry, PlainCodec, Record, RecordModel, encode, stamp
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.fold import apply, empty
from psych_runtime_core.state.run import RunStateView

ENVELOPE = frozenset({"run_id", "seq", "at", "tenant", "epoch"})
ACME = Scope(tenant="acme")


class BuiltLog:
    """The records so far. While it is checked, one that may not follow raises `CorruptLog`."""

    def __init__(
        self,
        run_id: str = "run_test",
        *,
        scope: Scope = ACME,
        version_hash: str = "sha256:test",
        start: datetime = START,
        step_seconds: float = 1.0,
        checked: bool = True,
    ) -> None:
        self.run_id, self.scope, self.start = RunId(run_id), scope, start
        self.version_hash = VersionHash(version_hash)
        self._step, self._now, self._checked = timedelta(seconds=step_seconds), start, checked
        self._worker, self._epoch = WorkerId("worker-1"), 0
        self._state = empty(self.run_id)
        self._records: list[Record] = []
        self._forged: set[int] = set()

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(self._records)

    def entries(self, codec: Codec | None = None) -> tuple[Entry, ...]:
        """The log as a store keeps it; forged entries have another body than their digest says."""
        head, entries = GENESIS, list[Entry]()
        for record in self._records:
            entry = encode(record, after=head, scope=self.scope, codec=codec or PlainCodec())
            head = entry.head
            forged = record.seq in self._forged
            entries.append(replace(entry, body=entry.body + b" ") if forged else entry)
        return tuple(entries)

    def state(self) -> RunStateView:
        """A fresh fold of the log. Raises `CorruptLog`."""
        state = empty(self.run_id)
        for record in self._records:
            apply(state, record)
        return state

    def header(self, **fields: Any) -> RunHeader:
        """The header that the log implies, with `fields` said otherwise."""
        told = {"scope": self.scope, "created_at": self.start, **fields}
        return implied_header(self.entries(), self._records[-1], self._state, **told)

    async def store(self, store: Store) -> RunHeader:
        """Admit the Run with all of its log, sealed by the store's codec; the header that stands.

        Where an Attempt has begun, and it is not settled, it waits until somebody wakes it.
        """
        await store.codec.prepare(self.scope)
        entries = self.entries(store.codec)
        return await store.get_run(await store.admit(self.header(head=entries[-1].head), entries))

    def at(self, seconds: float) -> Self:
        """When the next record is written, in seconds from the start."""
        self._now = self.start + timedelta(seconds=seconds)
        return self

    # --- corruption ----------------------------------------------------------------------------------

    def unchecked(self) -> Self:
        """From here on anything goes."""
        self._checked = False
        return self

    def drop(self, seq: int) -> Self:
        self._records.pop(self._place(seq))
        return self.unchecked()

    def repeat(self, seq: int) -> Self:
        place = self._place(seq)
        self._records.insert(place, self._records[place])
        return self.unchecked()

    def swap(self, a: int, b: int) -> Self:
        records, i, j = self._records, self._place(a), self._place(b)
        records[i], records[j] = records[j], records[i]
        return self.unchecked()

    def edit(self, seq: int, **fields: Any) -> Self:
        """Other fields in a record, its digest following."""
        place = self._place(seq)
        self._records[place] = self._records[place].model_copy(update=fields)
        return self.unchecked()

    def truncate(self, after: int) -> Self:
        """The log up to the seq `after`, as a crash leaves it."""
        kept = self._records[:after]
        self._records, self._state = [], empty(self.run_id)
        for record in kept:
            self._take(record)
        return self

    def forge(self, seq: int) -> Self:
        """Another body under the same digest, in `entries`."""
        self._forged.add(seq)
        return self.unchecked()

    # --- growth --------------------------------------------------------------------------------------

    def _add(self, cls: type[RecordModel], fields: dict[str, Any], **implied: Any) -> Self:
        told = {**implied, **fields}
        envelope: dict[str, Any] = {
            "run_id": self.run_id,
            "seq": self._next_seq(),
            "at": self._now,
            "tenant": self.scope.tenant,
            "epoch": 0 if cls is RunAdmitted else self._epoch,
            **{name: told.pop(name) for name in ENVELOPE & told.keys()},
        }
        self._take(stamp(cls(**told), **envelope))
        self._now += self._step
        return self

    def _next_seq(self) -> int:
        return self._records[-1].seq + 1 if self._records else 1

    def _take(self, record: Any) -> None:
        if self._checked:
            apply(self._state, record)
        else:
            with suppress(CorruptLog):
                apply(self._state, record)
        self._records.append(record)

    def _place(self, seq: int) -> int:
        return next(place for place, record in enumerate(self._records) if record.seq == seq)

"""A store on which somebody else always writes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from psych_runtime.store_proxy import StoreProxy
from psych_runtime_core.errors import RunAlreadySettled, SeqConflict
from psych_runtime_core.ids import RunId, derive_entry_id
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Append, HeaderAction, HeaderChange, Write
from psych_runtime_core.records import Head, encode, stamp
from psych_runtime_core.records.facts import QueueKind
from psych_runtime_core.records.queue import QueueEnqueued


class ConflictingStore(StoreProxy):
    """Lands a legal foreign record before every commit of a Worker, and before each write that parks a Run.

    The first `steers` of a Run are messages that it will read; each later one repeats the first of them,
    which changes nothing. What is tried again after a lost race passes, so a Worker needs two tries for each
    of its writes. `landed` counts the foreign records.
    """

    def __init__(self, store: Store, *, steers: int = 1) -> None:
        super().__init__(store)
        if steers < 1:
            raise ValueError(f"steers is {steers}; the first foreign record of a Run is one, give 1 or more")
        self._steers = steers
        self._landed: Counter[RunId] = Counter()
        self._yielding: set[RunId] = set()

    @property
    def landed(self) -> int:
        return self._landed.total()

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        for write in writes:
            if isinstance(write, Append) and write.lease is not None:
                await self._come_before(write.run_id)
        return await super().commit(writes)

    async def release(
        self, lease: Lease, ready_at: datetime | None = NOW, *, after: Head | None = None
    ) -> None:
        if after is not None:
            await self._come_before(lease.run_id)
        await super().release(lease, ready_at, after=after)

    async def _come_before(self, run_id: RunId) -> None:
        if run_id in self._yielding:
            self._yielding.remove(run_id)
            return
        self._yielding.add(run_id)
        while not await self._lands(await self._store.get_run(run_id)):
            pass
        self._landed[run_id] += 1

    async def _lands(self, header: RunHeader) -> bool:
        """Write a record behind the present head; False when somebody else did. What ends takes none."""
        if header.terminal is not None or header.stopping:
            return True
        number = self._landed[header.run_id]
        is_new = number < self._steers
        record = stamp(
            QueueEnqueued(
                entry_id=derive_entry_id(header.run_id, f"foreign {number if is_new else 0}"),
                queue=QueueKind.STEER,
                payload={"message": "A word from outside."},
            ),
            run_id=header.run_id,
            seq=header.head.seq + 1,
            at=self.clock.now(),
            tenant=header.scope.tenant,
            epoch=0,
        )
        entry = encode(record, after=header.head, scope=header.scope, codec=self.codec)
        facts = replace(header.facts, pending=header.pending + is_new)
        change = HeaderChange(HeaderAction.WAKE, facts=facts)
        try:
            await self._store.append(header.run_id, header.head, [entry], change)
        except SeqConflict:
            return False
        except RunAlreadySettled:
            # Nobody writes behind the end: there is nothing left to conflict with.
            return True
        else:
            return True

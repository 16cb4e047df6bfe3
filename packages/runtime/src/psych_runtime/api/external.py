"""How somebody who holds no lease writes to a log: once, after the head it was decided on, with a wake."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from psych_runtime.attempt.pauses import Pauses
from psych_runtime_core.errors import RunAlreadySettled, SeqConflict, StoreUnavailable
from psych_runtime_core.ports.runs import HeaderFacts, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Append, HeaderAction, HeaderChange
from psych_runtime_core.records import Entry, Head, Record, encode, stamp

T = TypeVar("T")
# A writer that lost so often steps back, so that no crowd of them starves a Worker.
LOSSES_BEFORE_PAUSES = 3


async def land(store: Store, decide: Callable[[], Awaitable[Append | None]]) -> None:
    """Write what `decide` makes of the Run, deciding anew after each lost race, until it stands.

    None is nothing to write. `StoreUnavailable` leaves only where nothing was written.
    """
    pauses = Pauses(store.clock, first=0.1, longest=0.2)
    losses = 0
    while (write := await decide()) is not None and not await _lands(store, write):
        losses += 1
        if losses >= LOSSES_BEFORE_PAUSES:
            await pauses.sleep()


async def until_known(store: Store, operation: Callable[[], Awaitable[T]]) -> T:
    """What `operation` gives, which may be repeated, asked again until it is known whether it took effect.

    Raises `StoreUnavailable` only where nothing was written.
    """
    pauses, nothing_written = Pauses(store.clock), True
    while True:
        try:
            return await operation()
        except StoreUnavailable as away:
            nothing_written = nothing_written and away.outcome == "none"
            if nothing_written:
                raise
        await pauses.sleep()


def stamped(store: Store, header: RunHeader, after: int, records: Iterable[Record]) -> list[Record]:
    """`records` with the envelopes of an external writer, behind the seq `after`."""
    now, tenant = store.clock.now(), header.scope.tenant
    return [
        stamp(record, run_id=header.run_id, seq=seq, at=now, tenant=tenant, epoch=0)
        for seq, record in enumerate(records, after + 1)
    ]


async def waking(
    store: Store, header: RunHeader, after: Head, records: Iterable[Record], facts: HeaderFacts
) -> Append:
    """The write of stamped `records` behind `after`, which wakes the Run. `facts` hold when it stands."""
    await store.codec.prepare(header.scope)
    entries: list[Entry] = []
    for record in records:
        head = entries[-1].head if entries else after
        entries.append(encode(record, after=head, scope=header.scope, codec=store.codec))
    return Append(header.run_id, after, tuple(entries), HeaderChange(HeaderAction.WAKE, facts=facts))


async def _lands(store: Store, write: Append) -> bool:
    """Whether `write` stands in the log; False when somebody else wrote first."""

    async def attempt() -> bool:
        try:
            await store.append(write.run_id, write.after, write.entries, write.change)
        except SeqConflict:
            return await _stands(store, write)
        except RunAlreadySettled:
            if not await _stands(store, write):
                raise
        return True

    return await until_known(store, attempt)


async def _stands(store: Store, write: Append) -> bool:
    """Whether the batch stands below what others wrote since: it landed, and its answer was lost."""
    try:
        tail = await store.read(write.run_id, write.after.seq, len(write.entries))
    except StoreUnavailable as away:
        # Until the log is read the write may be in it, whatever became of the reading.
        raise StoreUnavailable(away.operation, away.detail, "unknown") from away
    return len(tail) == len(write.entries) and tail[-1].digest == write.entries[-1].digest

"""Runs that are admitted with a past: copied steps, or a whole log from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from anyio import create_task_group
from anyio.lowlevel import checkpoint

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import (
    OTHER_REQUEST,
    RUN,
    START,
    WAKE,
    admission,
    append,
    claim,
    claimed_ids,
    everything,
)
from psych_runtime_core.errors import IdempotencyConflict, RunAlreadySettled, RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records import MAX_BODY_BYTES
from psych_runtime_core.records.facts import TerminalState

FAR = 2**40
"""An epoch that 32 bits do not hold."""


def past(*epochs: int, bodies: tuple[bytes, ...] = (), settled: bool = False, **also: Any) -> Admit:
    """An admission whose entries are of these epochs."""
    fields: dict[str, Any] = {"ready_at": None, "epoch": max(epochs), **also}
    if settled:
        fields |= {"terminal": TerminalState.COMPLETED, "settled_at": START}
    write = admission(bodies=bodies or [b"%d" % number for number, _ in enumerate(epochs)], **fields)
    entries = [replace(each, epoch=epoch) for each, epoch in zip(write.entries, epochs, strict=True)]
    if settled:
        entries[-1] = replace(entries[-1], type="run_settled")
    return replace(write, entries=tuple(entries))


LONG = past(*[1] * 5, bodies=(b"x" * MAX_BODY_BYTES,) * 5, idempotency_key="import")
"""More than a commit may have."""


class Imports(StoreBase):
    """What is stored of a past."""

    async def test_a_run_of_several_records_is_admitted_whole(self, store: Store) -> None:
        write = admission(bodies=[b"admitted", b"then", b"more"])
        await store.admit(write.header, write.entries)
        assert await store.read(RUN) == write.entries

    async def test_a_settled_run_keeps_its_epochs_and_its_end(self, store: Store, second: Store) -> None:
        write = past(0, 1, 3, 3, settled=True)
        await store.admit(write.header, write.entries)
        assert await everything(second, RUN) == [(write.header, write.entries)]
        assert await claimed_ids(store) == []
        with pytest.raises(RunAlreadySettled):
            await append(store)

    async def test_an_open_run_waits_to_be_woken_and_counts_its_epochs_on(self, store: Store) -> None:
        write = past(0, FAR, parked=True)
        await store.admit(write.header, write.entries)
        assert await everything(store, RUN) == [(write.header, write.entries)]
        assert await claimed_ids(store) == []
        await append(store, RUN, change=WAKE)
        assert (await claim(store)).lease.epoch == FAR + 1

    async def test_a_past_longer_than_a_commit_is_stored_whole(self, store: Store, second: Store) -> None:
        assert await store.admit(LONG.header, LONG.entries) == RUN
        assert await whole_run(second) == (LONG.header, LONG.entries)
        assert await store.admit(LONG.header, LONG.entries) == RUN
        assert await whole_run(second) == (LONG.header, LONG.entries)

    async def test_nothing_of_a_past_is_seen_before_all_of_it(self, store: Store, second: Store) -> None:
        stored = False

        async def look() -> None:
            while not stored:
                seen = await whole_run(second)
                assert seen in [None, (LONG.header, LONG.entries)]
                await checkpoint()

        async with create_task_group() as group:
            group.start_soon(look)
            await store.admit(LONG.header, LONG.entries)
            stored = True

    @pytest.mark.parametrize("turns", [1, 2, 4, 8, 32])
    async def test_an_import_that_was_cut_off_is_repeated(self, store: Store, turns: int) -> None:
        async with create_task_group() as group:
            group.start_soon(store.admit, LONG.header, LONG.entries)
            for _ in range(turns):
                await checkpoint()
            group.cancel_scope.cancel()
        assert await whole_run(store) in [None, (LONG.header, LONG.entries)]
        assert await store.admit(LONG.header, LONG.entries) == RUN
        assert await whole_run(store) == (LONG.header, LONG.entries)

    async def test_a_long_past_of_another_request_conflicts_and_changes_nothing(self, store: Store) -> None:
        first = past(0, 1, idempotency_key="import", request=OTHER_REQUEST)
        await store.admit(first.header, first.entries)
        with pytest.raises(IdempotencyConflict):
            await store.admit(LONG.header, LONG.entries)
        assert await everything(store, RUN) == [(first.header, first.entries)]


async def whole_run(store: Store) -> tuple[RunHeader, tuple[object, ...]] | None:
    """The Run as it stands; None where there is none."""
    try:
        header = await store.get_run(RunId(RUN))
    except RunNotFound:
        return None
    entries = list(await store.read(RUN))
    while page := await store.read(RUN, entries[-1].seq):
        entries += page
    return header, tuple(entries)

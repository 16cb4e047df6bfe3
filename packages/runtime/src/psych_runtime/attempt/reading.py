"""Logs, read page by page and folded."""

from __future__ import annotations

from collections.abc import AsyncIterator

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import GENESIS, Entry, Head, Record, decode, verify
from psych_runtime_core.scope import Scope

PAGE = 1_000


async def pages(store: Store, run_id: RunId, after: Head = GENESIS) -> AsyncIterator[tuple[Entry, ...]]:
    """The log behind `after`, in pages whose chain is verified. Raises `CorruptLog` where it breaks."""
    head = after
    while page := await store.read(run_id, head.seq, PAGE):
        head = verify(page, run_id=run_id, after=head)
        yield page


async def entries_after(store: Store, run_id: RunId, after: Head = GENESIS) -> list[Entry]:
    """Every entry behind `after`."""
    return [entry async for page in pages(store, run_id, after) for entry in page]


def decoded(store: Store, scope: Scope, run_id: RunId, entry: Entry) -> Record:
    """The record of an entry, opened with the store's codec."""
    return decode(entry, run_id=run_id, scope=scope, codec=store.codec)

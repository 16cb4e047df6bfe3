"""The Records of a Run: a part of them, or all as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from psych_runtime.api.access import header_of, scope_of
from psych_runtime.api.arguments import identifier, whole
from psych_runtime.api.log import LogReader
from psych_runtime.attempt.reading import PAGE
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import Watch
from psych_runtime_core.records import Record
from psych_runtime_core.scope import Scope

# How long one wait lasts; at its end the next one begins, and nothing is read.
WAIT_SECONDS = 60.0


async def records(
    store: Store,
    run_id: RunId | str,
    *,
    after: int = 0,
    limit: int | None = None,
    scope: Scope | None = None,
) -> Sequence[Record]:
    """The Records behind the seq `after`, in order, at most `limit`; None is all.

    Raises `RunNotFound`, `AccessDenied`, `CorruptLog`, `RecordTooNew`.
    """
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    whole("after", after, 0)
    most = None if limit is None else whole("limit", limit, 1)
    reader = LogReader(store, await header_of(store, run, held), after)
    found: list[Record] = []
    while most is None or len(found) < most:
        page = await reader.records(PAGE if most is None else min(PAGE, most - len(found)))
        if not page:
            break
        found += page
    return tuple(found)


def stream(
    store: Store, run_id: RunId | str, *, after: int = 0, scope: Scope | None = None
) -> AsyncGenerator[Record]:
    """Every Record behind the seq `after`, in order, once, as they come; it ends with `run_settled`.

    Nothing is read while nothing is appended. Who was cut off goes on with `after` set to the last seq seen.

    Raises with the first item `RunNotFound` and `AccessDenied`, with any `CorruptLog` and `RecordTooNew`.
    """
    run, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    return _stream(store, run, whole("after", after, 0), held)


async def _stream(store: Store, run_id: RunId, after: int, scope: Scope | None) -> AsyncGenerator[Record]:
    header = await header_of(store, run_id, scope)
    if _ends_at(header, after):
        return
    reader = LogReader(store, header, after)
    # The watch stands before the first page is read, so no append falls between the two.
    async with store.changes([run_id]) as watch:
        while True:
            while page := await reader.records():
                for record in page:
                    yield record
                if page[-1].type == "run_settled":
                    return
            await _change(watch, run_id)


def _ends_at(header: RunHeader, after: int) -> bool:
    """Whether the log is whole, and nothing follows `after`."""
    return header.terminal is not None and header.head.seq <= after


async def _change(watch: Watch, run_id: RunId) -> None:
    while run_id not in (await watch.wait(WAIT_SECONDS)).runs:
        pass

"""Settled Runs are removed, with all that belongs to them."""

from __future__ import annotations

from functools import partial

from psych_runtime.api.access import scope_of
from psych_runtime.api.arguments import of_kind
from psych_runtime.api.scoped import within
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.checks import check_conditions
from psych_runtime_core.ports.queries import RunQuery, pages
from psych_runtime_core.ports.runs import RunState
from psych_runtime_core.ports.store import Store
from psych_runtime_core.scope import Scope

# As many as one question about Runs may name.
RUNS_NAMED = 1_000


async def purge(
    store: Store, *, query: RunQuery, blobs: BlobStore | None = None, scope: Scope | None = None
) -> int:
    """Remove settled Runs whose root matches, trees whole, until none matches; of how many Runs.

    A tree stays while one of its Runs, or one that continues one of them, is not settled. Entries, headers,
    live text and, with `blobs`, their blobs go; Versions stay, and an idempotency key answers for 30 days.
    `query.limit` is how many trees go at a time. Interrupted, it is called again.

    Raises, before anything is removed, `ValueError` for a query without conditions and for matches that hold
    blobs where no `blobs` are given, and `AccessDenied` for a query that names another tenant.
    """
    held = scope_of(store, scope)
    check_conditions(of_kind("query", query, RunQuery))
    meant = within(query, held) if held else query
    if blobs is not None:
        return await _purge_with(store, meant, blobs)
    await _refuse_blobs(store, meant)
    count = 0
    while removed := await store.purge(meant):
        count += len(removed)
    return count


async def _purge_with(store: Store, query: RunQuery, blobs: BlobStore) -> int:
    """The blobs go first: cut between the two, the Run is found again, and what is left of it goes then."""
    count = 0
    while meant := await store.purge(query, dry_run=True):
        for header in meant:
            # Flagged or not: a blob is stored before the record that names it.
            await blobs.delete_run(header.scope.tenant, header.run_id)
        roots = frozenset(header.root_run_id for header in meant)
        while removed := await store.purge(RunQuery(run_ids=roots, limit=query.limit)):
            count += len(removed)
    return count


async def _refuse_blobs(store: Store, query: RunQuery) -> None:
    """Raise `ValueError` where a tree that matches holds blobs, in its root or below."""
    holders = RunQuery(
        tenant=query.tenant, blobs=True, states=frozenset({RunState.SETTLED}), limit=RUNS_NAMED
    )
    async for page in pages(partial(store.find_runs, holders)):
        roots = frozenset(header.root_run_id for header in page.items)
        named = roots if query.run_ids is None else roots & query.run_ids
        if named:
            await _refuse_settled(store, query.model_copy(update={"run_ids": named}))


async def _refuse_settled(store: Store, holding: RunQuery) -> None:
    async for page in pages(partial(store.find_runs, holding)):
        for root in page.items:
            if root.terminal is not None:
                raise ValueError(f"{root.run_id} or a child of it holds blobs; give blobs= to remove them")

"""Settled Runs are removed, with all that belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from psych_runtime.api.access import scope_of
from psych_runtime.api.arguments import blob_store, of_kind
from psych_runtime.api.scoped import within
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.checks import check_conditions
from psych_runtime_core.ports.queries import RunQuery, pages
from psych_runtime_core.ports.runs import RunHeader, RunState
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.trees import TreeId, top_of, tops_of, tree_of
from psych_runtime_core.scope import Scope

# As many as one question about Runs may name.
RUNS_NAMED = 1_000


async def purge(
    store: Store, *, query: RunQuery, blobs: BlobStore | None = None, scope: Scope | None = None
) -> int:
    """Remove settled Runs whose root matches, trees whole, until none matches; of how many Runs.

    Where a root is not stored, as of a child that was imported alone, the oldest Run of its tree is asked in
    its place. A tree stays while one of its Runs, or one that continues one of them, is not settled. Entries,
    headers, live text and, with `blobs`, their blobs go; Versions stay, and an idempotency key answers for
    30 days. `query.limit` is how many trees go at a time. Interrupted, it is called again.

    Raises, before anything is removed, `ValueError` for a query without conditions and for matches that hold
    blobs where no `blobs` are given, and `AccessDenied` for a query that names another tenant.
    """
    held = scope_of(store, scope)
    check_conditions(of_kind("query", query, RunQuery))
    meant = within(query, held) if held else query
    kept = blob_store(blobs)
    if kept is not None:
        return await _purge_with(store, meant, kept)
    await _refuse_blobs(store, meant)
    count = 0
    while removed := await store.purge(meant):
        count += len(removed)
    return count


async def _purge_with(store: Store, query: RunQuery, blobs: BlobStore) -> int:
    """The blobs go first: cut between the two, the Run is found again, and what is left of it goes then.

    Nor does a Run go without its blobs that came back meanwhile: each time they go first.
    """
    count = 0
    while meant := await store.purge(query, dry_run=True):
        for header in meant:
            # Flagged or not: a blob is stored before the record that names it.
            await blobs.delete_run(header.scope.tenant, header.run_id)
        tops = RunQuery(run_ids=frozenset(tops_of(meant).values()), limit=query.limit)
        count += len(await store.purge(tops))
    return count


async def _refuse_blobs(store: Store, query: RunQuery) -> None:
    """Raise `ValueError` where a tree that matches holds blobs, anywhere in it."""
    holders = RunQuery(
        tenant=query.tenant, blobs=True, states=frozenset({RunState.SETTLED}), limit=RUNS_NAMED
    )
    async for page in pages(partial(store.find_runs, holders)):
        tops = await _tops(store, page.items)
        named = tops if query.run_ids is None else tops & query.run_ids
        if named:
            await _refuse_settled(store, query.model_copy(update={"run_ids": named}))


async def _tops(store: Store, members: Sequence[RunHeader]) -> frozenset[RunId]:
    """The tops of the trees that these Runs are of."""
    trees = {tree_of(header) for header in members}
    roots = RunQuery(run_ids=frozenset(root for _, root in trees), limit=RUNS_NAMED)
    stored = [each async for page in pages(partial(store.find_runs, roots)) for each in page.items]
    rooted = {tree_of(each) for each in stored if each.run_id == each.root_run_id}
    rootless = [await _oldest(store, tree) for tree in trees - rooted]
    return frozenset([*(root for _, root in trees & rooted), *rootless])


async def _oldest(store: Store, tree: TreeId) -> RunId:
    tenant, root = tree
    members = RunQuery(tenant=tenant, root_run_id=root, limit=RUNS_NAMED)
    there = [each async for page in pages(partial(store.find_runs, members)) for each in page.items]
    # Somebody else may have purged it meanwhile: then nobody is named by this.
    return top_of(there).run_id if there else root


async def _refuse_settled(store: Store, holding: RunQuery) -> None:
    async for page in pages(partial(store.find_runs, holding)):
        for top in page.items:
            if top.terminal is not None:
                raise ValueError(f"the tree of {top.run_id} holds blobs; give blobs= to remove them")

"""Which Runs a purge takes: settled trees that nobody goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_memory.shelves import Shelves


def purgeable(shelves: Shelves, query: RunQuery) -> tuple[RunHeader, ...]:
    """The Runs of up to `query.limit` trees whose root matches, of each children first and the root last."""
    trees = (_tree(shelves, root) for root in shelves.matching(query) if root.run_id == root.root_run_id)
    settled = (tree for tree in trees if _is_over(shelves, tree))
    return tuple(header for tree in islice(settled, query.limit) for header in tree)


def _tree(shelves: Shelves, root: RunHeader) -> list[RunHeader]:
    """Of its tenant, whatever a Run of another says of itself."""
    tree, tenant = shelves.on("root_run_id", root.run_id), root.scope.tenant
    members = (header for header in tree if header.scope.tenant == tenant)
    return sorted(members, key=lambda header: (header is root, -header.delegation_depth, header.run_id))


def _is_over(shelves: Shelves, tree: list[RunHeader]) -> bool:
    """Whether all are settled, and all that continue one of them."""
    return all(header.terminal for header in tree) and not any(
        heir.terminal is None for heir in _heirs(shelves, tree)
    )


def _heirs(shelves: Shelves, tree: list[RunHeader]) -> Iterator[RunHeader]:
    return (
        heir
        for header in tree
        for heir in shelves.on("continues_run_id", header.run_id)
        if heir.scope.tenant == header.scope.tenant
    )

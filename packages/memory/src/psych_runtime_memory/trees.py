"""Which Runs a purge takes: settled trees that nobody goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.trees import TreeId, from_the_leaves, tree_of
from psych_runtime_memory.shelves import Shelves


def purgeable(shelves: Shelves, query: RunQuery) -> tuple[RunHeader, ...]:
    """The Runs of up to `query.limit` trees that are meant, of each children first."""
    settled = (tree for tree in _meant(shelves, query) if _is_over(shelves, tree))
    return tuple(header for tree in islice(settled, query.limit) for header in tree)


def _meant(shelves: Shelves, query: RunQuery) -> Iterator[list[RunHeader]]:
    """The trees whose top matches."""
    trees: dict[TreeId, list[RunHeader]] = {}
    for header in shelves.matching(query):
        tree = tree_of(header)
        if tree not in trees:
            trees[tree] = _members(shelves, tree)
        if trees[tree][-1] is header:
            yield trees[tree]


def _members(shelves: Shelves, tree: TreeId) -> list[RunHeader]:
    _, root = tree
    return from_the_leaves(each for each in shelves.on("root_run_id", root) if tree_of(each) == tree)


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

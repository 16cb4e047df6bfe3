"""Trees of Runs as a store holds them: one may have come without its root."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from psych_runtime_core.ports.runs import RunHeader


def from_the_leaves(members: Iterable[RunHeader]) -> list[RunHeader]:
    """The Runs of a tree, children before their parents, and last the one by which a purge means the tree.

    That is its root. Where none is stored, it is the first by id of those that stand nearest to it.
    """
    by_id = sorted(members, key=attrgetter("run_id"), reverse=True)
    return sorted(by_id, key=lambda each: (each.run_id == each.root_run_id, -each.delegation_depth))

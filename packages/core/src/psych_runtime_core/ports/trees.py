"""Trees of Runs as a store holds them: one may have come without its root."""

from __future__ import annotations

from collections.abc import Iterable

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader

TreeId = tuple[str, RunId]
"""A tenant and a root: a tree holds no Run of another tenant, whatever that Run says of itself."""


def tree_of(header: RunHeader) -> TreeId:
    """The tree that it is of."""
    return header.scope.tenant, header.root_run_id


def top_of(members: Iterable[RunHeader]) -> RunHeader:
    """Of a tree the Run by which a purge means it: its root or, where none is stored, the oldest.

    Of several that are as old it is the first by id.
    """
    return min(members, key=lambda each: (each.run_id != each.root_run_id, each.created_at, each.run_id))


def from_the_leaves(members: Iterable[RunHeader]) -> list[RunHeader]:
    """The Runs of a tree, children before their parents, and last its top."""
    by_id = sorted(members, key=lambda each: each.run_id, reverse=True)
    top = top_of(by_id)
    return sorted(by_id, key=lambda each: (each is top, -each.delegation_depth))


def tops_of(listed: Iterable[RunHeader]) -> dict[TreeId, RunId]:
    """The top of each tree of a list in which it stands as last of its tree, as `purge` answers them."""
    return {tree_of(header): header.run_id for header in listed}

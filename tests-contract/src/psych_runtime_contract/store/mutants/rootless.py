"""Wrong ways to purge what is there of a tree."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from psych_runtime_contract.store.mutants.base import Mutant, over
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.trees import top_of, tree_of
from psych_runtime_memory.runs import Runs


class OtherTops(Runs):
    """A purge takes the trees of whoever `tops` lets stand for one."""

    def purge(self, query: RunQuery, now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        meant = frozenset(each.run_id for each in self.tops(self._shelves.matching(query)))
        return super().purge(RunQuery(run_ids=meant, limit=query.limit), now, dry_run=dry_run)

    def tops(self, matching: Iterable[RunHeader]) -> Iterable[RunHeader]:
        return matching

    def top_over(self, header: RunHeader) -> RunHeader:
        return top_of(self.tree_over(header))

    def tree_over(self, header: RunHeader) -> Iterable[RunHeader]:
        members = self._shelves.on("root_run_id", header.root_run_id)
        return (each for each in members if tree_of(each) == tree_of(header))


class RootsAlone(OtherTops):
    def tops(self, matching: Iterable[RunHeader]) -> Iterable[RunHeader]:
        return (each for each in matching if each.run_id == each.root_run_id)


class AnyRootCounts(OtherTops):
    """A Run with the id of the root is one, whoever it is."""

    def tops(self, matching: Iterable[RunHeader]) -> Iterable[RunHeader]:
        return (each for each in matching if each is self.top_over(each) and not self._has_another_root(each))

    def _has_another_root(self, header: RunHeader) -> bool:
        return header.run_id != header.root_run_id and header.root_run_id in self._headers


class EachStandsForItsTree(OtherTops):
    def tops(self, matching: Iterable[RunHeader]) -> Iterable[RunHeader]:
        tops = ((each, self.top_over(each)) for each in matching)
        return (top for each, top in tops if top.run_id != top.root_run_id or top is each)


class RootThatCameLaterIsPassedOver(OtherTops):
    def tops(self, matching: Iterable[RunHeader]) -> Iterable[RunHeader]:
        for each in matching:
            below = (one for one in self.tree_over(each) if one.run_id != one.root_run_id)
            first = min(below, key=lambda child: (child.created_at, child.run_id), default=each)
            if each is first or each.run_id == each.root_run_id:
                yield self.top_over(each)


class NearestStandsForItsTree(OtherTops):
    def tops(self, matching: Iterable[RunHeader]) -> Iterable[RunHeader]:
        return (self.top_over(each) for each in matching if each is self._nearest(each))

    def _nearest(self, header: RunHeader) -> RunHeader:
        return min(
            self.tree_over(header),
            key=lambda each: (each.run_id != each.root_run_id, each.delegation_depth, each.run_id),
        )


ALONE = "test_a_child_without_its_root_is_purged_by_whatever_means_it"
FIRST = "test_the_oldest_and_of_such_the_first_by_id_stands_for_the_tree"
DEEP = "test_what_stands_for_a_tree_goes_last_however_deep_it_was"
LATER = "test_a_root_that_comes_later_takes_its_place"
NO_ROOT = "test_what_only_has_the_id_of_its_root_is_none"
# In every sequence a Run stands under one that is there.
ROOTLESS = (
    Mutant(
        "purge passes over a child without its root",
        over(RootsAlone),
        ALONE,
        r"\[\] == \['b'\]",
        None,
        (FIRST, DEEP, NO_ROOT),
    ),
    Mutant("any child stands for its tree", over(EachStandsForItsTree), FIRST, r"== \(\)", None, (DEEP,)),
    Mutant("the nearest child stands for its tree", over(NearestStandsForItsTree), DEEP, r"== \(\)", None),
    Mutant(
        "a root that came later is passed over", over(RootThatCameLaterIsPassedOver), LATER, r"== \(\)", None
    ),
    Mutant("anybody's Run is the root", over(AnyRootCounts), NO_ROOT, "0 == 3", None),
)

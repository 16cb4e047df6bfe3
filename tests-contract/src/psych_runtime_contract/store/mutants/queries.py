"""Faults of reading, finding, purging and erasing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from psych_runtime_contract.store.mutants.base import Mutant, MutantStore, over
from psych_runtime_core.errors import IdempotencyConflict, RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import Page, RunQuery, cursor_behind
from psych_runtime_core.ports.runs import NOW, RunHeader
from psych_runtime_core.ports.writes import Admit, Write
from psych_runtime_core.records import Entry, Head
from psych_runtime_memory.runs import Runs


class UnknownRunReadsEmpty(MutantStore):
    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        try:
            return await super().read(run_id, after, limit)
        except RunNotFound:
            return ()


class BodiesDecodedAsText(MutantStore):
    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        page = await super().read(run_id, after, limit)
        return tuple(replace(each, body=each.body.decode(errors="replace").encode()) for each in page)


class PageRepeatsATie(MutantStore):
    """A page begins with who is equal in time to the last of the page before."""

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        page = await super().find_runs(query, cursor)
        ties = [each for each in page.items if each.created_at == page.items[0].created_at]
        return Page((*(ties[:1] if cursor else ()), *page.items), page.cursor)


class PageDropsATie(MutantStore):
    """A page ends with the last of its time, whoever else is of that time."""

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        page = await super().find_runs(query, cursor)
        if not cursor:
            return page
        before = (await super().find_runs(query.model_copy(update={"limit": 1_000}))).items
        at = before[before.index(page.items[0]) - 1].created_at if page.items else None
        return Page(tuple(each for each in page.items if each.created_at != at), page.cursor)


class ForeignCursorTaken(MutantStore):
    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        if cursor is not None:
            own = cursor_behind(query, (NOW, RunId("any"))).partition("|")[0]
            cursor = f"{own}|{cursor.partition('|')[2]}"
        return await super().find_runs(query, cursor)


class PurgeTakesUnsettled(Runs):
    def goes(self, tree: list[RunHeader]) -> bool:
        return True

    def tree(self, root: RunHeader) -> list[RunHeader]:
        named = self._shelves.on("root_run_id", root.run_id)
        return [each for each in named if each.scope.tenant == root.scope.tenant]

    def purge(self, query: RunQuery, now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        roots = [each for each in self._shelves.matching(query) if each.run_id == each.root_run_id]
        trees = [tree for tree in map(self.tree, roots) if self.goes(tree)][: query.limit]
        gone = [each for tree in trees for each in sorted(tree, key=lambda each: -each.delegation_depth)]
        return self._remove(gone, now, dry_run=dry_run)

    def _remove(self, gone: list[RunHeader], now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        for header in () if dry_run else gone:
            self._keys.date(header.run_id, now)
            self._shelves.move(header, None)
            del self._headers[header.run_id], self._logs[header.run_id]
        return tuple(gone)


class PurgeIgnoresHeirs(PurgeTakesUnsettled):
    def goes(self, tree: list[RunHeader]) -> bool:
        return all(header.terminal for header in tree)


class PurgeTakesAnotherTenants(PurgeTakesUnsettled):
    """Who says that it is of a tree is of it."""

    def tree(self, root: RunHeader) -> list[RunHeader]:
        return [*self._shelves.on("root_run_id", root.run_id)]

    def goes(self, tree: list[RunHeader]) -> bool:
        heirs = [heir for each in tree for heir in self._shelves.on("continues_run_id", each.run_id)]
        return all(each.terminal for each in (*tree, *heirs))


class PurgeForgetsChildren(Runs):
    def purge(self, query: RunQuery, now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        headers, logs = dict(self._headers), dict(self._logs)
        gone = super().purge(query, now, dry_run=dry_run)
        for header in gone:
            if header.parent_run_id is not None and not dry_run:
                self._headers[header.run_id], self._logs[header.run_id] = (
                    headers[header.run_id],
                    logs[header.run_id],
                )
                self._shelves.move(None, header)
        return tuple(header for header in gone if header.parent_run_id is None)


class EmptySetErasesAll(Runs):
    def erase(self, query: RunQuery, now: datetime) -> int:
        empty = [name for name, value in query if value == frozenset()]
        return super().erase(query.model_copy(update=dict.fromkeys(empty)), now)


class EraseStopsAtTheLimit(Runs):
    def erase(self, query: RunQuery, now: datetime) -> int:
        meant = [each for each in self._shelves.matching(query) if each.terminal and not each.erased]
        page = frozenset(each.run_id for each in meant[: query.limit])
        return super().erase(RunQuery(run_ids=page), now)


class EraseCountsAgain(Runs):
    def erase(self, query: RunQuery, now: datetime) -> int:
        super().erase(query, now)
        return sum(each.terminal is not None for each in self._shelves.matching(query))


class ErasedRunAskedForItsRequest(Runs):
    def commit(self, writes: Sequence[Write], now: datetime) -> tuple[Head, ...]:
        for write in writes:
            header = self._headers.get(write.run_id)
            if isinstance(write, Admit) and header and header.erased:
                raise IdempotencyConflict("", write.run_id, "request")
        return super().commit(writes, now)


class EraseKeepsLabels(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        before = self._headers.get(header.run_id)
        if before and header.erased:
            scope = header.scope.model_copy(update={"labels": before.scope.labels})
            header = header.model_copy(update={"scope": scope})
        super()._keep(header, now)


class EraseKeepsRequest(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        before = self._headers.get(header.run_id)
        if before and header.erased:
            header = header.model_copy(update={"request": before.request})
        super()._keep(header, now)


ERASURE = "test_what_a_header_says_of_a_person_goes_and_the_rest_stays"
ONCE = "test_all_who_are_meant_are_erased_once"
HEIRS = "test_a_tree_that_an_open_run_goes_on_from_stays"
QUERIES = (
    Mutant(
        "unknown Run reads empty",
        UnknownRunReadsEmpty,
        "test_a_run_that_is_not_there_is_named",
        "DID NOT RAISE",
    ),
    Mutant("bodies decoded as text", BodiesDecodedAsText, "test_a_body_comes_back_byte_for_byte", "xef"),
    Mutant(
        "a page repeats a tie", PageRepeatsATie, "test_ties_are_told_apart_by_their_ids", "contains|2 <= 1"
    ),
    Mutant("a page drops a tie", PageDropsATie, "test_ties_are_told_apart_by_their_ids", "contains|2 <= 1"),
    Mutant(
        "a cursor of another query is taken",
        ForeignCursorTaken,
        "test_a_cursor_of_another_query_is_refused",
        "DID NOT RAISE",
        machine=None,
    ),
    Mutant(
        "purge takes unsettled",
        over(PurgeTakesUnsettled),
        "test_what_is_not_settled_stays",
        r"== \(\)",
        also=(HEIRS,),
    ),
    Mutant(
        "purge ignores who goes on from a tree",
        over(PurgeIgnoresHeirs),
        HEIRS,
        r"== \(\)",
    ),
    Mutant(
        "purge takes another tenant's",
        over(PurgeTakesAnotherTenants),
        "test_a_run_of_another_tenant_is_of_no_tree",
        "theirs|left contains|Right contains",
        # A Run stands under one of its own tenant in every sequence.
        machine=None,
    ),
    Mutant(
        "purge forgets children",
        over(PurgeForgetsChildren),
        "test_a_tree_goes_whole_children_first_and_the_root_last",
        "Right contains 3 more",
        also=(HEIRS,),
    ),
    Mutant(
        "an empty set erases all",
        over(EmptySetErasesAll),
        "test_a_set_without_members_means_nobody",
        "1 == 0",
    ),
    Mutant("erase stops at the limit", over(EraseStopsAtTheLimit), ONCE, "5 == 57"),
    Mutant("erase counts again who was erased", over(EraseCountsAgain), ONCE, "60 == 57"),
    Mutant(
        "an erased Run is asked for its request",
        over(ErasedRunAskedForItsRequest),
        "test_an_erased_run_stands_for_whoever_asks_for_its_id",
        "IdempotencyConflict",
    ),
    Mutant("erase keeps labels", over(EraseKeepsLabels), ERASURE, "ada@example.com"),
    Mutant("erase keeps `request`", over(EraseKeepsRequest), ERASURE, "request"),
)

"""Purge and erasure: many small transactions, so that nobody waits long for either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.trees import tops_of, tree_of
from psych_runtime_sql.access import Access
from psych_runtime_sql.finder import Found
from psych_runtime_sql.marks import Mark
from psych_runtime_sql.operations import Operations
from psych_runtime_sql.parts import a_part
from psych_runtime_sql.sweeps import SLICE_BYTES
from psych_runtime_sql.trees import Tree
from psych_runtime_sql.walks import Place

REMOVED_AT_ONCE = 1_000
# What a header, its key and its places in indexes come to, roughly.
HEADER_BYTES = 1_024


class Purge:
    """Takes settled Runs away, and what the headers of settled Runs say about a person."""

    def __init__(self, access: Access, operations: Operations, clock: Clock) -> None:
        self._access, self._clock = access, clock
        self._trees, self._marks, self._sweeper = operations.trees, operations.marks, operations.sweeper

    async def purge(self, query: RunQuery) -> tuple[RunHeader, ...]:
        """Finish what was cut short, then remove up to `query.limit` trees; the headers that went."""
        await self.finish(await self._unfinished())
        doomed, gone = await self.doomed(query), set[str]()
        tops = tops_of(doomed)
        for start in range(0, len(doomed), REMOVED_AT_ONCE):
            part = doomed[start : start + REMOVED_AT_ONCE]
            with a_part(others_done=bool(gone)):
                marks = await self._remove(part, {tops[tree_of(header)] for header in part})
            gone |= {mark.id for mark in marks}
            with a_part():
                await self.finish(marks)
        return tuple(header for header in doomed if header.run_id in gone)

    async def doomed(self, query: RunQuery) -> list[RunHeader]:
        """What a purge would remove: each tree's children first, its top last."""
        trees, behind = await self._look(query, None)
        while behind is not None and len(trees) < query.limit:
            more, behind = await self._look(query, behind)
            trees += more
        return [header for tree in trees[: query.limit] for header in tree]

    async def finish(self, marks: Sequence[Mark]) -> None:
        """Take away what marks stand for, and then the marks."""
        while marks:
            marks = await self._slice(marks)

    async def erase(self, query: RunQuery) -> int:
        """Scrub the headers of settled matches; of how many."""
        found = await self._with_identity(query, None)
        erased = await self._scrub(found)
        while found.behind is not None:
            with a_part(others_done=erased > 0):
                found = await self._with_identity(query, found.behind)
                erased += await self._scrub(found)
        return erased

    # --- one transaction each

    async def _unfinished(self) -> Sequence[Mark]:
        return await self._access.read(
            "purge", lambda driver: self._marks.unfinished(driver, self._clock.now())
        )

    async def _look(self, query: RunQuery, behind: Place | None) -> tuple[list[Tree], Place | None]:
        return await self._access.read(
            "purge", lambda driver: self._trees.that_are_over(driver, query, behind)
        )

    async def _remove(self, runs: Sequence[RunHeader], tops: Iterable[RunId]) -> Sequence[Mark]:
        return await self._access.write(
            "purge",
            lambda driver: self._trees.remove(driver, runs, tops, self._clock.now()),
            len(runs) * HEADER_BYTES,
        )

    async def _slice(self, marks: Sequence[Mark]) -> Sequence[Mark]:
        return await self._access.write(
            "purge", lambda driver: self._sweeper.slice(driver, marks), SLICE_BYTES
        )

    async def _with_identity(self, query: RunQuery, behind: Place | None) -> Found:
        return await self._access.read(
            "erase", lambda driver: self._trees.with_identity(driver, query, behind)
        )

    async def _scrub(self, found: Found) -> int:
        run_ids = [RunId(row[0]) for row in found.rows]
        if not run_ids:
            return 0
        return await self._access.write(
            "erase",
            lambda driver: self._trees.scrub(driver, run_ids, self._clock.now()),
            len(run_ids) * HEADER_BYTES,
        )

"""Taking away what a mark stands for, a slice at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Dialect, bindparam, delete, func, select

from psych_runtime_core.ports.checks import SEAL_BYTES
from psych_runtime_core.records import MAX_BODY_BYTES
from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.marks import Mark, MarkKind, Marks
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.tables import ENTRY

PART_BYTES = MAX_BODY_BYTES + SEAL_BYTES
"""What one of many transactions writes or takes away at the most: the largest entry must fit."""
SLICE_BYTES = 512 * 1024
"""About what taking rows away writes: of the pages that they were on, few remain to be written."""


@dataclass(slots=True)
class Budget:
    """What one transaction may still write or take away, so that nobody waits long for it."""

    rows: int = 500
    bytes: int = PART_BYTES

    def take(self, sizes: Sequence[int]) -> int:
        """How many of these rows, from the first on, it allows. They are taken off it."""
        taken = 0
        for size in sizes[: self.rows]:
            if size > self.bytes:
                break
            self.bytes -= size
            taken += 1
        self.rows -= taken
        return taken

    def take_row(self) -> bool:
        """Whether it allows one more row, of no bytes to speak of. It is taken off it."""
        return self.take([0]) == 1


class Sweep(Protocol):
    """Takes away rows that a mark of its kind stands for."""

    async def __call__(self, driver: Driver, mark: Mark, budget: Budget) -> bool:
        """Take away what the budget allows; whether nothing is left."""
        ...


class EntrySweep:
    """The log of a Run whose header is gone, or has not come. The last entries go first: a prefix stays."""

    def __init__(self, dialect: Dialect) -> None:
        of_run = ENTRY.c.run_id == bindparam("of_run")
        sizes = select(ENTRY.c.seq, func.length(ENTRY.c.body)).where(of_run).order_by(ENTRY.c.seq.desc())
        self._sizes = compiled(sizes.limit(bindparam("limit")), dialect)
        self._delete = compiled(delete(ENTRY).where(of_run, ENTRY.c.seq >= bindparam("first")), dialect)

    async def __call__(self, driver: Driver, mark: Mark, budget: Budget) -> bool:
        rows = await self._sizes.fetch(driver, {"of_run": mark.id, "limit": budget.rows + 1})
        taken = budget.take([size for _, size in rows])
        if taken:
            await self._delete.fetch(driver, {"of_run": mark.id, "first": rows[taken - 1][0]})
        return taken == len(rows)


class Sweeper:
    """Finishes marks, each call inside one transaction of the driver it is given."""

    def __init__(self, marks: Marks, sweeps: Mapping[MarkKind, Sweep]) -> None:
        self._marks, self._sweeps = marks, sweeps

    async def slice(self, driver: Driver, marks: Sequence[Mark]) -> Outcome[tuple[Mark, ...]]:
        """Take away a slice of what these stand for, and the marks of what is gone; which are left."""
        budget = Budget()
        for number, mark in enumerate(marks):
            # Somebody else may have finished it meanwhile, or got further with it.
            if await self._marks.of(driver, mark.id) != mark:
                continue
            if not (budget.take_row() and await self._sweeps[mark.kind](driver, mark, budget)):
                return Outcome(tuple(marks[number:]))
            await self._marks.remove(driver, mark.id)
        return Outcome(())

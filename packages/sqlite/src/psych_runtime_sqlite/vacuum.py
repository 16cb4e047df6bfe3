"""Giving space back to the disk, a slice at a time."""

from __future__ import annotations

from psych_runtime_sql.access import Access
from psych_runtime_sql.driver import Driver
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sqlite.database import PAGE_BYTES

SLICE_PAGES = 512 * 1024 // PAGE_BYTES


async def give_back(access: Access) -> None:
    """Shorten the file by the pages that nothing is in."""
    while await access.write("purge", _slice, SLICE_PAGES * PAGE_BYTES):
        pass


async def _slice(driver: Driver) -> Outcome[bool]:
    """Give some pages back; whether there are more."""
    before = await _free(driver)
    for _ in range(min(before, SLICE_PAGES)):
        # One at a time, since Python's module takes only the first step of it.
        await driver.fetch("PRAGMA incremental_vacuum(1)")
    left = await _free(driver)
    # A file that was not made for it keeps its pages.
    return Outcome(0 < left < before)


async def _free(driver: Driver) -> int:
    pages: int = (await driver.fetch("PRAGMA freelist_count"))[0][0]
    return pages

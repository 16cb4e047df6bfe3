"""Lets other tasks run while much is at hand to be worked on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

Result = TypeVar("Result")

AT_ONCE = 64 * 1024
"""Characters or bytes that are worked on in a row. What is larger by itself is worked on beside the loop."""


class Pace:
    """Of a task that may find all that it awaits already there, and would so hold the loop.

    `every` is how much is done in a row, in whatever its steps are counted in.
    """

    def __init__(self, every: int) -> None:
        self._every, self._done = every, 0

    def is_over(self, size: int = 1) -> bool:
        """So much more is done; whether it is time for others: await a checkpoint."""
        self._done += size
        if self._done < self._every:
            return False
        self._done = 0
        return True


async def beside(work: Callable[[], Result]) -> Result:
    """What `work` comes to. While a thread does it others run, and may cancel it."""
    # There no time passes by work, and no thread is waited for.
    if getattr(asyncio.get_running_loop(), "has_virtual_time", False):
        return work()
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

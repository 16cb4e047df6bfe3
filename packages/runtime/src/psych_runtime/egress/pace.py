"""Lets other tasks run while much is at hand to be worked on."""

from __future__ import annotations

import anyio.lowlevel


class Pace:
    """Of a task that may find all that it awaits already there, and would so hold the loop.

    `every` is how much is done in a row, in whatever its steps are counted in.
    """

    def __init__(self, every: int) -> None:
        self._every, self._done = every, 0

    async def step(self, size: int = 1) -> None:
        """So much more is done; if it is time for that, others run now."""
        self._done += size
        if self._done >= self._every:
            self._done = 0
            await anyio.lowlevel.checkpoint()

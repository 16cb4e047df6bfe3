"""What wakes a task of one loop from any thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Bell:
    """It is waited on in the loop in which it was made, by one task.

    Who waits silences it, looks for news and only then waits: what comes after the look rings again.
    """

    def __init__(self) -> None:
        self._loop, self._rung = asyncio.get_running_loop(), asyncio.Event()

    def ring(self) -> None:
        """Wake who waits, once the news is there: it may look before this thread goes on."""
        # The loop of a bell that was left behind may be closed: nobody waits there.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._rung.set)

    def silence(self) -> None:
        self._rung.clear()

    async def wait(self) -> None:
        await self._rung.wait()

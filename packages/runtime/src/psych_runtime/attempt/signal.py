"""One task waits, others wake it."""

from __future__ import annotations

import anyio


class Signal:
    """Set until somebody has waited for it. A set that comes before the wait is not lost."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self) -> bool:
        """Wait until set; always true, so that a wait that ends first is known by it."""
        await self._event.wait()
        self._event = anyio.Event()
        return True

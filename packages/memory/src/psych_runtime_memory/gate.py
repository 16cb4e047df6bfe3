"""One call at a time on what a store holds, from any loop and thread."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from threading import Lock

from anyio.lowlevel import checkpoint

from psych_runtime_core.errors import StoreError


class Gate:
    """Lets one in after a checkpoint of its loop, until it is closed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._closed = False

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Nobody else is in. The block must not await. Raises `StoreError` when the store is closed."""
        await checkpoint()
        with self._lock:
            self.refuse_if_closed()
            yield

    def refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")

    def close(self) -> None:
        """Let nobody in any more."""
        self._closed = True

"""What a store holds open in one process and one event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.readers import Readers
from psych_runtime_sqlite.watches import Watches
from psych_runtime_sqlite.writer import Writer


class Handle:
    """Threads and connections, begun as they are needed."""

    def __init__(self, database: Database, lookout: Lookout, clock: Clock, readers: int) -> None:
        self._loop, self._process = asyncio.get_running_loop(), os.getpid()
        self.readers = Readers(database, self._loop, readers)
        self._tail = Readers(database, self._loop, 1, snapshots=False)
        self.watches = Watches(lookout, self._tail, clock)
        self.writer = Writer(database, self._loop, self.watches.hear)

    @property
    def is_inherited(self) -> bool:
        """Whether this process was forked from the one that holds it."""
        return self._process != os.getpid()

    def serves_here(self) -> bool:
        """Whether it is of this process and loop. Raises `StoreError` while another loop has it."""
        if self.is_inherited or self._loop is asyncio.get_running_loop():
            return not self.is_inherited
        if not self._loop.is_closed():
            raise StoreError("this store is in use by another event loop; make one store for each loop")
        self.stop()
        return False

    def stop(self) -> Sequence[threading.Thread]:
        """End the threads when they have done what waits for them; they may be joined."""
        return [*self.writer.stop(), *self.readers.stop(), *self._tail.stop()]

    async def close(self) -> None:
        """Answer all who wait, and close every connection."""
        if self._loop is asyncio.get_running_loop():
            self.watches.close()
        # The last connection to close empties the WAL; two that close at once leave it to each other.
        await asyncio.to_thread(_join, [*self.readers.stop(), *self._tail.stop()])
        await asyncio.to_thread(_join, self.writer.stop())


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.join()

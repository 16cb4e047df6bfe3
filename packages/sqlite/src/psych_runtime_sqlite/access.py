"""How an operation reaches the file: through the handle of this process and loop, and in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal, TypeVar
from weakref import finalize

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError, StoreUnavailable
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sqlite.database import Database
from psych_runtime_sqlite.handle import Handle
from psych_runtime_sqlite.jobs import Job, Work

T = TypeVar("T")


class FileAccess:
    """The `Access` of one store. It opens the file when it is first needed."""

    def __init__(self, database: Database, lookout: Lookout, clock: Clock, readers: int) -> None:
        self.database, self._lookout, self._clock, self._readers = database, lookout, clock, readers
        self._handle: Handle | None = None
        self._closed = False

    async def read(self, operation: str, work: Work[T]) -> T:
        return await self._answer_of(self.handle().readers.submit(operation, work))

    async def write(self, operation: str, work: Work[Outcome[T]], size: int = 0) -> T:
        self.require_writable()
        return (await self._answer_of(self.handle().writer.submit(operation, work, size))).answer

    def handle(self) -> Handle:
        """The handle of this process and loop; a new one after a fork, and after a loop that was closed."""
        if self._closed:
            raise StoreError("closed: this SQLiteStore was closed; open another one")
        handle = self._handle
        if handle is not None and handle.serves_here():
            return handle
        self._handle = Handle(self.database, self._lookout, self._clock, self._readers)
        finalize(self, self._handle.stop)
        return self._handle

    def require_writable(self) -> None:
        """Raise `StoreError` where only reading is allowed."""
        if self.database.read_only:
            raise StoreError("this store is read-only; open one without read_only=True to write")

    async def close(self) -> None:
        """Answer all who wait, and close every connection, for good."""
        self._closed = True
        handle, self._handle = self._handle, None
        if handle is not None and not handle.is_inherited:
            await handle.close()

    async def _answer_of(self, job: Job[T]) -> T:
        seconds = self.database.operation_seconds
        timer = job.future.get_loop().call_later(seconds, job.give_up, seconds)
        try:
            return await job.future
        finally:
            timer.cancel()


@asynccontextmanager
async def in_time(
    seconds: float, operation: str, outcome: Literal["none", "unknown"] = "unknown"
) -> AsyncGenerator[None]:
    """A bound for what takes several operations, or none of the store's threads."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise StoreUnavailable(operation, f"it took longer than {seconds:g} s", outcome) from error

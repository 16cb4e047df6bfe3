"""Text of model calls in progress, in a table that every process follows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError, StoreUnavailable
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LiveChunk, check_chunks
from psych_runtime_core.ports.watch import Watch
from psych_runtime_sql.access import Access
from psych_runtime_sql.reader import Reader
from psych_runtime_sql.texts import Texts

PUBLISHED_AT_ONCE = 1024 * 1024
LOOK_AGAIN_SECONDS = 30.0
TRY_AGAIN_SECONDS = 1.0

Watching = Callable[[RunId], AbstractAsyncContextManager[Watch]]
"""A watch that hints at a Run when its text goes on, whoever publishes it."""


class SqlLive:
    """A `LiveChannel` through the database of its store. `dropped`: how many chunks it did not keep."""

    def __init__(self, access: Access, texts: Texts, clock: Clock, watching: Watching) -> None:
        self._access, self._texts, self._clock = access, texts, clock
        self._watching = watching
        self.dropped = 0

    async def publish(self, chunks: Sequence[LiveChunk]) -> None:
        check_chunks(chunks)
        for part in _parts(chunks):
            try:
                self.dropped += await self._publish(part)
            except StoreError:
                self.dropped += len(part)

    @asynccontextmanager
    async def follow(self, run_id: RunId) -> AsyncGenerator[AsyncIterator[LiveChunk]]:
        async with aclosing(self._chunks(run_id)) as chunks:
            yield chunks

    async def clear(self, run_id: RunId, call_seq: int | None = None) -> None:
        # What stays is old after an hour.
        with suppress(StoreError):
            if call_seq is None:
                await self._access.write("live.clear", lambda driver: self._texts.forget(driver, [run_id]))
            else:
                await self._access.write(
                    "live.clear", lambda driver: self._texts.clear(driver, run_id, call_seq)
                )

    async def _chunks(self, run_id: RunId) -> AsyncGenerator[LiveChunk]:
        """What is there and what comes, until the store is closed or of no use."""
        reader = Reader(run_id)
        while True:
            try:
                async with self._watching(run_id) as watch:
                    while True:
                        reader, chunks = await self._read_on(reader)
                        for chunk in chunks:
                            yield chunk
                        if not chunks:
                            await watch.wait(LOOK_AGAIN_SECONDS)
            except StoreUnavailable:
                await self._clock.sleep(TRY_AGAIN_SECONDS)
            except StoreError:
                return

    async def _read_on(self, reader: Reader) -> tuple[Reader, list[LiveChunk]]:
        return await self._access.read(
            "live.follow", lambda driver: self._texts.read_on(driver, reader, self._clock.now())
        )

    async def _publish(self, chunks: Sequence[LiveChunk]) -> int:
        size = sum(len(chunk.body) for chunk in chunks)
        return await self._access.write(
            "live.publish", lambda driver: self._texts.publish(driver, chunks, self._clock.now()), size
        )


def _parts(chunks: Sequence[LiveChunk]) -> Iterator[list[LiveChunk]]:
    """Chunks as they go into one transaction each."""
    part: list[LiveChunk] = []
    size = 0
    for chunk in chunks:
        if part and size + len(chunk.body) > PUBLISHED_AT_ONCE:
            yield part
            part, size = [], 0
        part.append(chunk)
        size += len(chunk.body)
    if part:
        yield part

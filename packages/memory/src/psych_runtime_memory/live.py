"""Text of model calls in progress, from its beginning on, for followers in all loops and threads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from threading import Lock

from anyio.lowlevel import checkpoint

from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LIFE, LiveChunk, check_chunks
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_memory.bell import Bell
from psych_runtime_memory.heap import Heap
from psych_runtime_memory.texts import RunTexts, Text


class InMemoryLive:
    """A `LiveChannel`. Followers read what is kept, each from where it is: nothing queues up for them.

    `headers` say who may still speak for a Run that is stored: its last holder, until its end.
    """

    def __init__(self, clock: Clock, headers: Mapping[RunId, RunHeader]) -> None:
        self._clock, self._headers = clock, headers
        self._lock = Lock()
        self._closed = False
        self._runs: dict[RunId, RunTexts] = {}
        self._ends: Heap[datetime, RunId] = Heap()
        self._bells: dict[RunId, set[Bell]] = {}

    async def publish(self, chunks: Sequence[LiveChunk]) -> None:
        check_chunks(chunks)
        await checkpoint()
        now = self._clock.now()
        with self._lock:
            self._forget(now)
            for chunk in () if self._closed else chunks:
                self._put(chunk, now)
            for run_id in {chunk.run_id for chunk in chunks} & self._runs.keys():
                self._ends.put(run_id, now + LIFE)
                for bell in self._bells.get(run_id, ()):
                    bell.ring()

    @asynccontextmanager
    async def follow(self, run_id: RunId) -> AsyncGenerator[AsyncIterator[LiveChunk]]:
        bell = Bell()
        with self._lock:
            self._bells.setdefault(run_id, set()).add(bell)
        try:
            async with aclosing(self._chunks(run_id, bell)) as chunks:
                yield chunks
        finally:
            with self._lock:
                self._bells[run_id].remove(bell)
                if not self._bells[run_id]:
                    del self._bells[run_id]

    async def clear(self, run_id: RunId, call_seq: int | None = None) -> None:
        await checkpoint()
        self.drop(run_id, call_seq)

    def drop(self, run_id: RunId, call_seq: int | None = None) -> None:
        """As `clear`, for who holds the lock of the store."""
        with self._lock:
            if run_id in self._runs:
                self._runs[run_id].clear(call_seq)

    def close(self) -> None:
        """Keep nothing any more, and let all followers end."""
        with self._lock:
            self._closed = True
            self._runs.clear()
            for bell in set[Bell]().union(*self._bells.values()):
                bell.ring()

    def _put(self, chunk: LiveChunk, now: datetime) -> None:
        header = self._headers.get(chunk.run_id)
        if header is None or header.terminal is None:
            texts = self._runs.setdefault(chunk.run_id, RunTexts())
            texts.put(chunk, header.epoch if header else 0, now)

    async def _chunks(self, run_id: RunId, bell: Bell) -> AsyncGenerator[LiveChunk]:
        read: dict[Text, int] = {}
        epoch = 0
        while not self._closed:
            bell.silence()
            while chunk := self._next(run_id, read, epoch):
                epoch = chunk.epoch
                yield chunk
            await bell.wait()

    def _next(self, run_id: RunId, read: dict[Text, int], epoch: int) -> LiveChunk | None:
        """What a follower that has `read` so many chunks of each text gets now, one at a time.

        Between any two the text may have been cleared, or a newer epoch may have begun. Nothing comes of an
        older one than it has heard.
        """
        now = self._clock.now()
        with self._lock:
            self._forget(now)
            kept = self._runs[run_id].texts(now) if run_id in self._runs else ()
            texts = [text for text in kept if text.epoch >= epoch]
            for text in texts:
                chunk = text.chunk(read.get(text, 0))
                if chunk:
                    read[text] = read.get(text, 0) + 1
                    return chunk
            for text in read.keys() - set(texts):
                del read[text]
            return None

    def _forget(self, now: datetime) -> None:
        while (first := self._ends.first()) and first[0] <= now:
            self._ends.take(first[1])
            self._runs.pop(first[1], None)

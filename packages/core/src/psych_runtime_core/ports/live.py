"""Text of a model call while it streams, for readers in any process. Best effort: the record has the text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, Self

from psych_runtime_core.ids import RunId

MAX_CHUNK_BYTES = 64 * 1024
MAX_LIVE_BYTES = 8 * 1024 * 1024
"""What is kept for a Run; beyond it chunks are dropped."""
LIVE_SECONDS = 3_600.0
LIFE = timedelta(seconds=LIVE_SECONDS)
"""After so long, text that nobody cleared goes."""


@dataclass(frozen=True, slots=True)
class LiveChunk:
    """A piece of the text of one model call.

    `call_seq` is the seq of its `model_call_started`; `offset` and `length` count code points within
    `(call_seq, reasoning)`; `body` is sealed, at most 64 KiB.
    """

    run_id: RunId
    lane: str
    call_seq: int
    epoch: int
    reasoning: bool
    offset: int
    length: int
    body: bytes


class LiveChannel(Protocol):
    """Carries chunks to followers. A lost backend drops them; nothing but `ValueError` is raised."""

    async def publish(self, chunks: Sequence[LiveChunk]) -> None:
        """Hand chunks on. Those of an older epoch than the newest are dropped."""
        ...

    def follow(self, run_id: RunId) -> AbstractAsyncContextManager[AsyncIterator[LiveChunk]]:
        """The text of each open call from offset 0, and what comes: no gap, and what repeats is equal."""
        ...

    async def clear(self, run_id: RunId, call_seq: int | None = None) -> None:
        """Free what an ended call held, or all of a Run's."""
        ...


class NoLive:
    """A `LiveChannel` that carries nothing: what is followed ends at once."""

    async def publish(self, chunks: Sequence[LiveChunk]) -> None:
        check_chunks(chunks)

    @asynccontextmanager
    async def follow(self, run_id: RunId) -> AsyncGenerator[AsyncIterator[LiveChunk]]:
        del run_id
        yield _nothing()

    async def clear(self, run_id: RunId, call_seq: int | None = None) -> None:
        del run_id, call_seq


# --- what is kept: every channel decides it so --------------------------------------------------------------

Text = tuple[int, bool]
"""A text of a Run: the seq of its call, and whether it is reasoning."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The last chunk that is stored of a text. `size`: the bytes of the text up to its end."""

    text: Text
    start: int
    length: int
    size: int
    epoch: int

    @property
    def end(self) -> int:
        """Where the text ends, in code points."""
        return self.start + self.length


@dataclass(slots=True)
class Room:
    """A Run's text: of its newest epoch alone, at most 8 MiB, each from its beginning on without a gap.

    After the end of a Run there is room for none.
    """

    epoch: int = 0
    is_over: bool = False
    ends: dict[Text, tuple[int, int]] = field(default_factory=dict[Text, tuple[int, int]])
    """Where each text ends, in code points, and its bytes."""
    has_older: bool = False
    """Whether text of an older epoch is stored."""

    @classmethod
    def of(cls, tails: Sequence[Tail], epoch: int, *, is_over: bool = False) -> Self:
        """The room of a Run that was claimed `epoch` times, as far as that is known."""
        newest = max([epoch, *(tail.epoch for tail in tails)])
        ends = {tail.text: (tail.end, tail.size) for tail in tails if tail.epoch == newest}
        return cls(newest, is_over, ends, has_older=len(ends) < len(tails))

    def take(self, chunk: LiveChunk) -> int | None:
        """Keep a chunk: the bytes of its text with it. None where it is dropped."""
        if self.is_over or chunk.epoch < self.epoch:
            return None
        if chunk.epoch > self.epoch:
            self.epoch, self.has_older = chunk.epoch, self.has_older or bool(self.ends)
            self.ends.clear()
        end, size = self.ends.get(text_of(chunk), (0, 0))
        total = sum(size for _, size in self.ends.values()) + len(chunk.body)
        if total > MAX_LIVE_BYTES or not chunk.offset <= end < chunk.offset + chunk.length:
            return None
        self.ends[text_of(chunk)] = (chunk.offset + chunk.length, size + len(chunk.body))
        return size + len(chunk.body)


def text_of(chunk: LiveChunk) -> Text:
    """The text that a chunk belongs to."""
    return chunk.call_seq, chunk.reasoning


def check_chunks(chunks: Sequence[LiveChunk]) -> None:
    """Raise `ValueError` for a chunk over its size, or one that is placed nowhere."""
    for chunk in chunks:
        if len(chunk.body) > MAX_CHUNK_BYTES:
            raise ValueError(f"a chunk has at most {MAX_CHUNK_BYTES} bytes, this one {len(chunk.body)}")
        if min(chunk.offset, chunk.length, chunk.call_seq, chunk.epoch) < 0:
            raise ValueError("offset, length, call_seq and epoch of a chunk are 0 or more")


async def _nothing() -> AsyncGenerator[LiveChunk]:
    empty: tuple[LiveChunk, ...] = ()
    for chunk in empty:
        yield chunk

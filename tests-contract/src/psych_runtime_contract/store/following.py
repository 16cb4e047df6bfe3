"""Live text as tests publish it, and somebody who reads along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from psych_runtime_contract.store.scenes import RUN
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LiveChannel, LiveChunk

PATIENCE_SECONDS = 20
"""Real seconds in which a chunk comes, or never does."""
A_WHILE = 1.0
"""Seconds of the store in which whatever still comes has come."""

Place = tuple[str, int, bool]
"""Lane, call, and whether it is reasoning: what has a text of its own."""


def chunk(
    offset: int,
    text: str,
    call_seq: int = 1,
    *,
    epoch: int = 1,
    lane: str = "main",
    reasoning: bool = False,
) -> LiveChunk:
    """A piece of the text of a call of `RUN`."""
    return LiveChunk(RUN, lane, call_seq, epoch, reasoning, offset, len(text), text.encode())


def cut(text: str, *lengths: int) -> list[LiveChunk]:
    """A text in pieces of these lengths, over and over."""
    chunks: list[LiveChunk] = []
    offset = 0
    while offset < len(text):
        piece = text[offset : offset + lengths[len(chunks) % len(lengths)]]
        chunks.append(chunk(offset, piece))
        offset += len(piece)
    return chunks


def texts_of(chunks: Sequence[LiveChunk]) -> dict[Place, str]:
    """The text of each call. Fails where one has a gap, or something repeats and differs."""
    texts: dict[Place, str] = {}
    for each in chunks:
        place, piece = (each.lane, each.call_seq, each.reasoning), each.body.decode()
        text = texts.get(place, "")
        assert each.length == len(piece), "`length` counts code points"
        assert each.offset <= len(text), f"a gap before {each.offset} of {place}, after {len(text)}"
        known = text[each.offset : each.offset + len(piece)]
        assert piece.startswith(known), f"{piece!r} repeats {known!r} otherwise"
        texts[place] = text + piece[len(known) :]
    return texts


class Follower:
    """Reads along from when it is entered. `got` are the chunks that came."""

    def __init__(self, live: LiveChannel, time: StoreTime, run_id: str = RUN) -> None:
        self._live, self._time, self._run_id = live, time, RunId(run_id)
        self._news = asyncio.Event()
        self.got: list[LiveChunk] = []

    async def __aenter__(self) -> Self:
        entered = asyncio.Event()
        self._reading = asyncio.create_task(self._read(entered))
        entering = asyncio.create_task(entered.wait())
        await asyncio.wait([entering, self._reading], return_when=asyncio.FIRST_COMPLETED)
        entering.cancel()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reading.cancel()
        (ended,) = await asyncio.gather(self._reading, return_exceptions=True)
        if isinstance(ended, Exception) and kind is None:
            raise ended

    @property
    def texts(self) -> dict[Place, str]:
        return texts_of(self.got)

    async def reads(self, text: str, call_seq: int = 1) -> None:
        """Wait until it has all of a text."""
        place = ("main", call_seq, False)
        await self.until(lambda: len(self.texts.get(place, "")) >= len(text), f"{place} to be {text!r}")
        assert self.texts[place] == text

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for chunks until something holds of them."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._time.passes_until(lambda: self._hears(holds))
        except TimeoutError as error:
            raise AssertionError(f"waited for {what}, got {self.texts}") from error

    async def ends(self) -> None:
        """Wait until there is nothing more to read."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._time.passes_until(lambda: asyncio.wait([self._reading]))

    async def hears_all(self, mark: LiveChunk) -> dict[Place, str]:
        """The texts, when what is kept has come: also `mark`, which was published last and is left out."""
        await self.until(lambda: mark in self.got, f"{mark}")
        await self._time.passes(A_WHILE)
        self.got.remove(mark)
        return self.texts

    async def _read(self, entered: asyncio.Event) -> None:
        async with self._live.follow(self._run_id) as chunks:
            entered.set()
            async for each in chunks:
                self.got.append(each)
                self._news.set()

    async def _hears(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._news.clear()
            await self._news.wait()

"""Faults of live text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count

from psych_runtime_contract.store.mutants.base import Mutant, MutantStore
from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LiveChunk
from psych_runtime_memory import InMemoryStore
from psych_runtime_memory.live import InMemoryLive


class GapAfterReconnect(InMemoryLive):
    """Who follows gets what comes from then on."""

    @asynccontextmanager
    async def follow(self, run_id: RunId) -> AsyncGenerator[AsyncIterator[LiveChunk]]:
        missed = set(self._kept(run_id))
        async with super().follow(run_id) as chunks:
            yield (chunk async for chunk in chunks if chunk not in missed)

    def _kept(self, run_id: RunId) -> Iterator[LiveChunk]:
        for text in self._runs[run_id].texts(self._clock.now()) if run_id in self._runs else ():
            for number in count():
                if (chunk := text.chunk(number)) is None:
                    break
                yield chunk


class OldEpochsTextShown(InMemoryLive):
    async def publish(self, chunks: Sequence[LiveChunk]) -> None:
        await super().publish([replace(chunk, epoch=1) for chunk in chunks])


class ClearForgotten(InMemoryLive):
    def drop(self, run_id: RunId, call_seq: int | None = None) -> None:
        pass


def telling(live: type[InMemoryLive]) -> Callable[[Clock], InMemoryStore]:
    """A store with such live text."""

    class Telling(MutantStore):
        def __init__(self, clock: Clock) -> None:
            super().__init__(clock)
            self.live = live(clock, self._headers)
            self._runs = self.runs(self._headers, self._watches, self.live)

    return Telling


OLD_EPOCH = "test_a_worker_that_lost_its_lease_is_not_heard"
AFTERWARDS = "test_nothing_is_left_of_what_ended"
TEXTS = (
    Mutant(
        "live gap after reconnect",
        telling(GapAfterReconnect),
        "test_who_joins_in_mid_call_gets_all_from_the_beginning",
        "a gap before 3",
        machine=None,
        also=(OLD_EPOCH, AFTERWARDS),
    ),
    Mutant(
        "old epoch's text shown",
        telling(OldEpochsTextShown),
        OLD_EPOCH,
        "old",
        machine=None,
    ),
    Mutant(
        "live text left when its Run ends",
        telling(ClearForgotten),
        AFTERWARDS,
        "Zażółć",
        machine=None,
    ),
)

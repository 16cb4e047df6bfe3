"""Wake-ups: told at once within the process, found out by asking the file across processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import Tail
from psych_runtime_core.ports.watch import Hint, News, Watch
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.texts import Tails
from psych_runtime_sqlite.connection import SQLiteDriver
from psych_runtime_sqlite.readers import Readers

# A reader of a log sees an append of another process within 10 ms; an idle Worker may look less often.
READER_SECONDS = 0.010
WORKER_SECONDS = 0.050
# In which those whom this process told of ready work have asked for it.
HERD_SECONDS = 0.1

Stamp = tuple[int, int]
"""It differs after any commit of another connection: the opening of ours, and SQLite's data version."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is watched: the logs of some Runs, the live text of some, ready work."""

    logs: frozenset[RunId] = frozenset()
    texts: frozenset[RunId] = frozenset()
    ready: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What the file said."""

    stamp: Stamp
    heads: Mapping[RunId, int]
    tails: Tails
    ready: bool


class Watches:
    """The watches of one loop. It asks through `reader`, one connection that serves nothing else."""

    def __init__(self, lookout: Lookout, reader: Readers, clock: Clock) -> None:
        self._lookout, self._reader, self._clock = lookout, reader, clock
        self._watches: set[StoreWatch] = set()
        self._heads: dict[RunId, int] = {}
        self._tails: dict[RunId, tuple[Tail, ...]] = {}
        self._stamp: Stamp | None = None
        self._told_ready_at = -inf
        self._owes_ready = False
        self._waiting = 0
        self._waited_for = asyncio.Event()
        self._poller: asyncio.Task[None] | None = None
        self.closed = False

    @asynccontextmanager
    async def watch(self, wanted: Wanted) -> AsyncGenerator[Watch]:
        """A watch that stands until the block is left."""
        watch = StoreWatch(self, self._clock, wanted)
        self._watches.add(watch)
        try:
            await self._begin(wanted)
            yield watch
        finally:
            self._watches.discard(watch)
            if not self._watches:
                self._rest()

    def hear(self, outcome: Outcome[Any]) -> None:
        """This process has committed something."""
        for run_id, seq in outcome.heads.items():
            if run_id in self._heads:
                self._heads[run_id] = max(self._heads[run_id], seq)
        if outcome.ready:
            self._told_ready_at = self._clock.monotonic()
        self._tell(outcome.heads, outcome.texts, ready=outcome.ready)

    def close(self) -> None:
        """Wake all who wait, for good."""
        self.closed = True
        self._rest()
        for watch in self._watches:
            watch.wake()

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Somebody waits: the file is asked meanwhile."""
        self._waiting += 1
        self._waited_for.set()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._waited_for.clear()

    async def _begin(self, wanted: Wanted) -> None:
        """Note where logs and texts end now: what comes after is a change."""
        look = self._reader.submit("changes", lambda driver: self._look(driver, replace(wanted, ready=False)))
        seen = await look.future
        self._stamp = self._stamp or seen.stamp
        for run_id in wanted.logs:
            self._heads.setdefault(run_id, seen.heads.get(run_id, 0))
        for run_id in wanted.texts:
            self._tails.setdefault(run_id, seen.tails.get(run_id, ()))
        # Begun anew: the pause it is in may be a Worker's, and too long for a reader.
        self._stop_polling()
        self._poller = asyncio.create_task(self._poll())

    def _rest(self) -> None:
        self._stop_polling()
        self._poller, self._stamp, self._heads, self._tails = None, None, {}, {}

    def _stop_polling(self) -> None:
        if self._poller is not None:
            self._poller.cancel()

    async def _poll(self) -> None:
        while True:
            await self._waited_for.wait()
            has_reader = any(watch.followed or watch.texts for watch in self._watches)
            await self._clock.sleep(READER_SECONDS if has_reader else WORKER_SECONDS)
            # The file is busy or gone for a moment: the heads that are known tell later what was missed.
            with suppress(StoreError):
                await self._ask()

    async def _ask(self) -> None:
        wanted = Wanted(
            frozenset[RunId]().union(*(watch.followed for watch in self._watches)),
            frozenset[RunId]().union(*(watch.texts for watch in self._watches)),
            ready=any(watch.wants_ready for watch in self._watches),
        )
        # The logs of Runs that are followed since a moment ago may have grown before they were looked at.
        known = None if self._owes_ready or wanted.logs - self._heads.keys() else self._stamp
        look = self._reader.submit("changes", lambda driver: self._news(driver, known, wanted))
        seen = await look.future
        if seen is None:
            return
        changed = {run_id: seq for run_id, seq in seen.heads.items() if seq > self._heads.get(run_id, 0)}
        tails = {run_id: seen.tails.get(run_id, ()) for run_id in wanted.texts}
        texts = frozenset(run_id for run_id, ends in tails.items() if ends != self._tails.get(run_id))
        self._heads = {
            run_id: max(self._heads.get(run_id, 0), seen.heads.get(run_id, 0)) for run_id in wanted.logs
        }
        self._stamp, self._tails = seen.stamp, tails
        # What this process told of a moment ago is about to be taken: looked at again, not told twice.
        self._owes_ready = seen.ready and self._clock.monotonic() < self._told_ready_at + HERD_SECONDS
        self._tell(changed, texts, ready=seen.ready and not self._owes_ready)

    async def _news(self, driver: SQLiteDriver, known: Stamp | None, wanted: Wanted) -> Seen | None:
        return None if await _stamp(driver) == known else await self._look(driver, wanted)

    async def _look(self, driver: SQLiteDriver, wanted: Wanted) -> Seen:
        # Asked first: what is committed in between makes the next stamp another one.
        stamp, now = await _stamp(driver), self._clock.now()
        heads = await self._lookout.heads(driver, wanted.logs)
        tails = await self._lookout.tails(driver, wanted.texts, now)
        has_ready = wanted.ready and await self._lookout.has_ready(driver, now)
        return Seen(stamp, heads, tails, has_ready)

    def _tell(self, changed: Mapping[RunId, int], texts: frozenset[RunId], *, ready: bool) -> None:
        for watch in self._watches:
            if watch.hear(changed, ready=ready, texts=texts & watch.texts):
                watch.wake()


async def _stamp(driver: SQLiteDriver) -> Stamp:
    return driver.opened, (await driver.fetch("PRAGMA data_version"))[0][0]


class StoreWatch(News):
    """A `Watch` that is told, in the loop of its store."""

    def __init__(self, watches: Watches, clock: Clock, wanted: Wanted) -> None:
        super().__init__(wanted.logs, ready=wanted.ready)
        self._watches, self._clock, self.texts = watches, clock, wanted.texts
        self._woken = asyncio.Event()

    async def wait(self, timeout_seconds: float) -> Hint:
        if self._watches.closed:
            raise StoreError("closed: the store of this watch is closed")
        if not self:
            self._woken.clear()
            with self._watches.waiting():
                timer = asyncio.create_task(self._time_out(timeout_seconds))
                try:
                    await self._woken.wait()
                finally:
                    timer.cancel()
        return self.take()

    def wake(self) -> None:
        """End the present wait."""
        self._woken.set()

    async def _time_out(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self.wake()

"""Wake-ups: told at once within the process, found out by asking the file across processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.watch import Hint, Watch
from psych_runtime_sql.lookout import Lookout
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sqlite.connection import SQLiteDriver
from psych_runtime_sqlite.readers import Readers

# A reader of a log sees an append of another process within 10 ms; an idle Worker may look less often.
READER_SECONDS = 0.010
WORKER_SECONDS = 0.050

Stamp = tuple[int, int]
"""It differs after any commit of another connection: the opening of ours, and SQLite's data version."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the file said."""

    stamp: Stamp
    heads: Mapping[RunId, int]
    ready: bool


class Watches:
    """The watches of one loop. It asks through `reader`, one connection that serves nothing else."""

    def __init__(self, lookout: Lookout, reader: Readers, clock: Clock) -> None:
        self._lookout, self._reader, self._clock = lookout, reader, clock
        self._watches: set[StoreWatch] = set()
        self._heads: dict[RunId, int] = {}
        self._stamp: Stamp | None = None
        self._waiting = 0
        self._waited_for = asyncio.Event()
        self._poller: asyncio.Task[None] | None = None
        self.closed = False

    @asynccontextmanager
    async def watch(self, run_ids: Collection[RunId], *, ready: bool) -> AsyncGenerator[Watch]:
        """A watch on these Runs, and on ready work, that stands until the block is left."""
        watch = StoreWatch(self, self._clock, run_ids, ready=ready)
        self._watches.add(watch)
        try:
            await self._begin(run_ids)
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
        self._tell(outcome.heads, ready=outcome.ready)

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

    async def _begin(self, run_ids: Collection[RunId]) -> None:
        """Note where the logs end now: what comes after is a change."""
        seen = await self._reader.submit("changes", lambda driver: self._look(driver, run_ids, ready=False))
        self._stamp = self._stamp or seen.stamp
        for run_id in run_ids:
            self._heads.setdefault(run_id, seen.heads.get(run_id, 0))
        # Begun anew: the pause it is in may be a Worker's, and too long for a reader.
        self._stop_polling()
        self._poller = asyncio.create_task(self._poll())

    def _rest(self) -> None:
        self._stop_polling()
        self._poller, self._stamp, self._heads = None, None, {}

    def _stop_polling(self) -> None:
        if self._poller is not None:
            self._poller.cancel()

    async def _poll(self) -> None:
        while True:
            await self._waited_for.wait()
            has_reader = any(watch.followed for watch in self._watches)
            await self._clock.sleep(READER_SECONDS if has_reader else WORKER_SECONDS)
            # The file is busy or gone for a moment: the heads that are known tell later what was missed.
            with suppress(StoreError):
                await self._ask()

    async def _ask(self) -> None:
        followed = frozenset[RunId]().union(*(watch.followed for watch in self._watches))
        # The logs of Runs that are followed since a moment ago may have grown before they were looked at.
        known = self._stamp if followed <= self._heads.keys() else None
        ready = any(watch.wants_ready for watch in self._watches)
        seen = await self._reader.submit(
            "changes", lambda driver: self._news(driver, known, followed, ready=ready)
        )
        if seen is None:
            return
        changed = {run_id: seq for run_id, seq in seen.heads.items() if seq > self._heads.get(run_id, 0)}
        heads = {run_id: max(self._heads.get(run_id, 0), seen.heads.get(run_id, 0)) for run_id in followed}
        self._stamp, self._heads = seen.stamp, heads
        self._tell(changed, ready=seen.ready)

    async def _news(
        self, driver: SQLiteDriver, known: Stamp | None, run_ids: Collection[RunId], *, ready: bool
    ) -> Seen | None:
        return None if await _stamp(driver) == known else await self._look(driver, run_ids, ready=ready)

    async def _look(self, driver: SQLiteDriver, run_ids: Collection[RunId], *, ready: bool) -> Seen:
        heads = await self._lookout.heads(driver, run_ids)
        has_ready = ready and await self._lookout.has_ready(driver, self._clock.now())
        return Seen(await _stamp(driver), heads, has_ready)

    def _tell(self, changed: Mapping[RunId, int], *, ready: bool) -> None:
        for watch in self._watches:
            watch.hear(changed, ready=ready)


async def _stamp(driver: SQLiteDriver) -> Stamp:
    return driver.opened, (await driver.fetch("PRAGMA data_version"))[0][0]


class StoreWatch:
    """A `Watch` that is told."""

    def __init__(self, watches: Watches, clock: Clock, run_ids: Collection[RunId], *, ready: bool) -> None:
        self._watches, self._clock = watches, clock
        self.followed = set(run_ids)
        self.wants_ready = ready
        self._changed: set[RunId] = set()
        self._seen: dict[RunId, int] = {}
        self._ready = False
        self._news = asyncio.Event()

    def follow(self, *run_ids: RunId) -> None:
        self.followed.update(run_ids)

    def unfollow(self, *run_ids: RunId) -> None:
        self.followed.difference_update(run_ids)
        self._changed.difference_update(run_ids)
        for run_id in run_ids:
            self._seen.pop(run_id, None)

    def saw(self, run_id: RunId, seq: int) -> None:
        if run_id in self.followed:
            self._seen[run_id] = max(self._seen.get(run_id, 0), seq)

    async def wait(self, timeout_seconds: float) -> Hint:
        if self._watches.closed:
            raise StoreError("closed: the store of this watch is closed")
        if not self._has_news:
            self._news.clear()
            with self._watches.waiting():
                timer = asyncio.create_task(self._time_out(timeout_seconds))
                try:
                    await self._news.wait()
                finally:
                    timer.cancel()
        hint = Hint(self._ready, frozenset(self._changed))
        self._ready, self._changed = False, set()
        return hint

    def hear(self, changed: Mapping[RunId, int], *, ready: bool) -> None:
        """Merge a change into the next hint; `changed` says how far each log leads now."""
        self._ready = self._ready or (ready and self.wants_ready)
        news = {run_id for run_id, seq in changed.items() if seq > self._seen.get(run_id, 0)}
        self._changed |= news & self.followed
        if self._has_news:
            self.wake()

    def wake(self) -> None:
        """End the present wait."""
        self._news.set()

    @property
    def _has_news(self) -> bool:
        return self._ready or bool(self._changed)

    async def _time_out(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self.wake()

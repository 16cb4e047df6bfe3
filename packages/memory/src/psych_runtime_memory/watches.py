"""Push watches within a process, over all its loops and threads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from threading import Lock

from anyio import CancelScope, create_task_group

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import StoreError
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.watch import Hint, News, Watch
from psych_runtime_memory.bell import Bell


class Watches:
    """The watches that stand, found by what they watch. Writers, in any thread, tell what they changed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.lock = Lock()
        self.of_run: dict[RunId, set[PushWatch]] = {}
        self.of_ready: set[PushWatch] = set()
        self.closed = False
        self._standing: set[PushWatch] = set()

    @asynccontextmanager
    async def watch(self, run_ids: Collection[RunId], *, ready: bool) -> AsyncGenerator[Watch]:
        """A watch on these Runs, and on ready work, that stands until the block is left."""
        watch = PushWatch(self, ready=ready)
        watch.follow(*run_ids)
        with self.lock:
            self._standing.add(watch)
            self.of_ready.update({watch} if ready else ())
        try:
            yield watch
        finally:
            watch.close()
            with self.lock:
                self._standing.remove(watch)
                self.of_ready.discard(watch)

    def close(self) -> None:
        """End the present wait of all watches, and refuse the next."""
        with self.lock:
            self.closed = True
            for watch in self._standing:
                watch.wake()

    def tell_changed(self, run_id: RunId, seq: int) -> None:
        """The log of a Run has grown up to `seq`."""
        with self.lock:
            for watch in self.of_run.get(run_id, ()):
                watch.hear({run_id: seq})

    def tell_ready(self) -> None:
        """A Run can be claimed that could not be before."""
        with self.lock:
            for watch in self.of_ready:
                watch.hear({}, ready=True)


class PushWatch:
    """A `Watch` that is told, from any thread. It is waited on in the loop in which it was made."""

    def __init__(self, watches: Watches, *, ready: bool) -> None:
        self._watches = watches
        self._news = News(ready=ready)
        self._bell = Bell()

    def follow(self, *run_ids: RunId) -> None:
        with self._watches.lock:
            self._news.follow(*run_ids)
            for run_id in run_ids:
                self._watches.of_run.setdefault(run_id, set()).add(self)

    def unfollow(self, *run_ids: RunId) -> None:
        with self._watches.lock:
            for run_id in self._news.followed.intersection(run_ids):
                self._watches.of_run[run_id].remove(self)
                if not self._watches.of_run[run_id]:
                    del self._watches.of_run[run_id]
            self._news.unfollow(*run_ids)

    def saw(self, run_id: RunId, seq: int) -> None:
        with self._watches.lock:
            self._news.saw(run_id, seq)

    async def wait(self, timeout_seconds: float) -> Hint:
        if self._watches.closed:
            raise StoreError("closed: the store of this watch is closed")
        async with create_task_group() as group:
            group.start_soon(self._time_out, timeout_seconds, group.cancel_scope)
            await self._until_news()
            group.cancel_scope.cancel()
        with self._watches.lock:
            return self._news.take()

    def close(self) -> None:
        """Hear no more."""
        self.unfollow(*self._news.followed)

    def hear(self, changed: Mapping[RunId, int], *, ready: bool = False) -> None:
        """Merge into the next hint. Called under the lock."""
        if self._news.hear(changed, ready=ready):
            self.wake()

    def wake(self) -> None:
        """Have who waits look again."""
        self._bell.ring()

    async def _until_news(self) -> None:
        self._bell.silence()
        while not self._news and not self._watches.closed:
            await self._bell.wait()
            self._bell.silence()

    async def _time_out(self, seconds: float, scope: CancelScope) -> None:
        await self._watches.clock.sleep(seconds)
        scope.cancel()

"""Push watches within a process, over all its loops and threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from threading import Lock

from anyio import CancelScope, create_task_group

from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.watch import Hint, Watch


class Watches:
    """The watches that stand, found by what they watch. Writers, in any thread, tell what they changed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.lock = Lock()
        self.of_run: dict[RunId, set[PushWatch]] = {}
        self.of_ready: set[PushWatch] = set()

    @asynccontextmanager
    async def watch(self, run_ids: Collection[RunId], *, ready: bool) -> AsyncGenerator[Watch]:
        """A watch on these Runs, and on ready work, that stands until the block is left."""
        watch = PushWatch(self)
        watch.follow(*run_ids)
        if ready:
            with self.lock:
                self.of_ready.add(watch)
        try:
            yield watch
        finally:
            watch.close()

    def tell_changed(self, run_id: RunId, seq: int) -> None:
        """The log of a Run has grown up to `seq`."""
        with self.lock:
            for watch in self.of_run.get(run_id, ()):
                watch.hear_changed(run_id, seq)

    def tell_ready(self) -> None:
        """A Run can be claimed that could not be before."""
        with self.lock:
            for watch in self.of_ready:
                watch.hear_ready()


class PushWatch:
    """A `Watch` that is told. It is waited on in the loop in which it was made."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._followed: set[RunId] = set()
        self._changed: set[RunId] = set()
        self._seen: dict[RunId, int] = {}
        self._ready = False
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()

    def follow(self, *run_ids: RunId) -> None:
        with self._watches.lock:
            self._followed.update(run_ids)
            for run_id in run_ids:
                self._watches.of_run.setdefault(run_id, set()).add(self)

    def unfollow(self, *run_ids: RunId) -> None:
        with self._watches.lock:
            for run_id in self._followed.intersection(run_ids):
                self._drop(run_id)

    def close(self) -> None:
        """Hear no more."""
        self.unfollow(*self._followed)
        with self._watches.lock:
            self._watches.of_ready.discard(self)

    async def wait(self, timeout_seconds: float) -> Hint:
        async with create_task_group() as group:
            group.start_soon(self._time_out, timeout_seconds, group.cancel_scope)
            await self._until_news()
            group.cancel_scope.cancel()
        with self._watches.lock:
            hint = Hint(self._ready, frozenset(self._changed))
            self._ready, self._changed = False, set()
        return hint

    def saw(self, run_id: RunId, seq: int) -> None:
        with self._watches.lock:
            if run_id in self._followed:
                self._seen[run_id] = max(self._seen.get(run_id, 0), seq)

    def hear_changed(self, run_id: RunId, seq: int) -> None:
        """Report `run_id` with the next hint. As `hear_ready`, called under the lock from any thread."""
        if seq <= self._seen.get(run_id, 0):
            return
        had_news = bool(self._changed)
        self._changed.add(run_id)
        if not had_news:
            self._ring()

    def hear_ready(self) -> None:
        had_news, self._ready = self._ready, True
        if not had_news:
            self._ring()

    def _ring(self) -> None:
        """Wake who waits, once the news is there: it may look before this thread goes on."""
        # The loop of a watch that was left behind may be closed: nobody waits there.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._news.set)

    def _drop(self, run_id: RunId) -> None:
        self._followed.remove(run_id)
        self._changed.discard(run_id)
        self._seen.pop(run_id, None)
        followers = self._watches.of_run[run_id]
        followers.remove(self)
        if not followers:
            del self._watches.of_run[run_id]

    async def _until_news(self) -> None:
        # Cleared before looking: what is heard after the look rings again.
        self._news.clear()
        while not self._ready and not self._changed:
            await self._news.wait()
            self._news.clear()

    async def _time_out(self, seconds: float, scope: CancelScope) -> None:
        await self._watches.clock.sleep(seconds)
        scope.cancel()

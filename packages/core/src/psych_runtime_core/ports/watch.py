"""Hints that something changed, and the watch that finds out by asking."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId

if TYPE_CHECKING:
    from psych_runtime_core.ports.store import Store


@dataclass(frozen=True, slots=True)
class Hint:
    """Where to look: for ready work, and at the logs of `runs`. It may be false, doubled or late."""

    ready: bool = False
    runs: frozenset[RunId] = frozenset()

    def __bool__(self) -> bool:
        return self.ready or bool(self.runs)


class Watch(Protocol):
    """What changed since the last `wait`, reported once and merged. One task waits at a time."""

    def follow(self, *run_ids: RunId) -> None: ...

    def unfollow(self, *run_ids: RunId) -> None: ...

    def saw(self, run_id: RunId, seq: int) -> None:
        """The log of `run_id` is known up to `seq`: a change that leads no further is not reported.

        Who writes says so before it writes, or its own write wakes it.
        """
        ...

    async def wait(self, timeout_seconds: float) -> Hint:
        """The next hint; an empty one at the timeout."""
        ...


class News:
    """What a watch has heard and not told yet. It knows no loop and takes no lock: who has it does.

    `wants_ready`: it is to hear of ready work.
    """

    def __init__(self, run_ids: Collection[RunId] = (), *, ready: bool = False) -> None:
        self.followed, self.wants_ready = set(run_ids), ready
        self._changed: set[RunId] = set()
        self._seen: dict[RunId, int] = {}
        self._ready = False

    def __bool__(self) -> bool:
        return self._ready or bool(self._changed)

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

    def hear(
        self, changed: Mapping[RunId, int], *, ready: bool = False, texts: Collection[RunId] = ()
    ) -> bool:
        """Merge into the next hint how far logs lead now, and whose text goes on.

        Whether that is the first of it: who waits is woken then.
        """
        had_news = bool(self)
        self._ready = self._ready or (ready and self.wants_ready)
        led_on = (run_id for run_id, seq in changed.items() if seq > self._seen.get(run_id, 0))
        self._changed |= self.followed.intersection(led_on).union(texts)
        return not had_news and bool(self)

    def take(self) -> Hint:
        """The hint, told now: the next one is empty so far."""
        hint = Hint(self._ready, frozenset(self._changed))
        self._ready, self._changed = False, set()
        return hint


class PollingWatch:
    """A `Watch` for a store that cannot push: it asks for the heads of followed Runs.

    With `ready` it hints ready work at each poll. The first poll reports every followed Run, since what
    happened before it is not known.
    """

    def __init__(
        self, store: Store, run_ids: Collection[RunId] = (), *, ready: bool = False, poll_seconds: float = 0.5
    ) -> None:
        self._store, self._ready, self._poll_seconds = store, ready, poll_seconds
        self._heads: dict[RunId, int | None] = dict.fromkeys(run_ids)

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heads.clear()

    def follow(self, *run_ids: RunId) -> None:
        for run_id in run_ids:
            self._heads.setdefault(run_id, None)

    def unfollow(self, *run_ids: RunId) -> None:
        for run_id in run_ids:
            self._heads.pop(run_id, None)

    def saw(self, run_id: RunId, seq: int) -> None:
        if run_id in self._heads:
            self._heads[run_id] = max(self._heads[run_id] or 0, seq)

    async def wait(self, timeout_seconds: float) -> Hint:
        clock = self._store.clock
        end = clock.monotonic() + timeout_seconds
        while not (changed := await self._poll()):
            left = end - clock.monotonic()
            if left <= 0:
                return Hint()
            await clock.sleep(min(left, self._poll_seconds))
            if self._ready:
                return Hint(ready=True, runs=await self._poll())
        return Hint(runs=changed)

    async def _poll(self) -> frozenset[RunId]:
        changed: set[RunId] = set()
        for run_id in tuple(self._heads):
            seq = await self._seq(run_id)
            # It may have been unfollowed while the store was asked.
            if run_id in self._heads and self._heads[run_id] != seq:
                self._heads[run_id] = seq
                changed.add(run_id)
        return frozenset(changed)

    async def _seq(self, run_id: RunId) -> int:
        try:
            return (await self._store.get_run(run_id)).head.seq
        except RunNotFound:
            return 0

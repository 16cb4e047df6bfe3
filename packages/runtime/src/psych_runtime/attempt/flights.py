"""The effects in flight: what runs is the driver's knowledge, never the state's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

import anyio.abc

from psych_runtime.attempt.cut import Cut, CutReason
from psych_runtime.attempt.inbox import Brought, Inbox
from psych_runtime_core.engine.effects import CallModel, RunTool

Work = CallModel | RunTool
Performer = Callable[[Work, Cut], Awaitable[Brought]]


class Flights:
    """Starts effects in a task group and puts what they bring into the inbox."""

    def __init__(self, group: anyio.abc.TaskGroup, inbox: Inbox, perform: Performer) -> None:
        self._group, self._inbox, self._perform = group, inbox, perform
        self._held: dict[Work, Cut] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, effect: Work) -> bool:
        return effect in self._held

    def start(self, effect: Work) -> None:
        cut = Cut()
        self._held[effect] = cut
        self._group.start_soon(self._fly, effect, cut)

    def cut_all_but(self, wanted: Collection[Work]) -> None:
        """Cut short what the engine no longer asks for."""
        for effect, cut in self._held.items():
            if effect not in wanted:
                cut.make(CutReason.RUN_STOPS)

    def cut_all(self) -> None:
        """The Worker stops: cut everything short."""
        for cut in self._held.values():
            cut.make(CutReason.WORKER_STOPS)

    async def _fly(self, effect: Work, cut: Cut) -> None:
        brought = await self._perform(effect, cut)
        del self._held[effect]
        self._inbox.put(brought)

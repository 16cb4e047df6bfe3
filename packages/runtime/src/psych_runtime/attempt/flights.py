"""The effects in flight: what runs is the driver's knowledge, never the state's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

import anyio.abc

from psych_runtime.attempt.cut import Cut, CutReason
from psych_runtime.attempt.inbox import Brought, Inbox
from psych_runtime_core.engine.effects import CallModel, Effect, RunTool

Work = CallModel | RunTool
Performer = Callable[[Work, Cut], Awaitable[Brought]]


class Flights:
    """Starts effects in a task group and puts what they bring into the inbox."""

    def __init__(self, group: anyio.abc.TaskGroup, inbox: Inbox, perform: Performer) -> None:
        self._group, self._inbox, self._perform = group, inbox, perform
        self._held: dict[Effect, Cut] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, effect: Work) -> bool:
        return effect in self._held

    def start(self, effect: Work) -> None:
        cut = Cut()
        self._held[effect] = cut
        self._group.start_soon(self._fly, effect, cut)

    def landed(self, effect: Effect) -> None:
        """What an effect brought has been taken."""
        self._held.pop(effect, None)

    def cut_all_but(self, wanted: Collection[Effect]) -> None:
        """Cut short what the engine no longer asks for."""
        for effect, cut in self._held.items():
            if effect not in wanted:
                cut.make(CutReason.RUN_STOPS)

    def cut_all(self) -> None:
        """The Worker stops: cut everything short."""
        for cut in self._held.values():
            cut.make(CutReason.WORKER_STOPS)

    async def _fly(self, effect: Work, cut: Cut) -> None:
        # It is held until what it brought is taken: the driver may be waiting for its store just now, and
        # would start the same effect again.
        self._inbox.put(await self._perform(effect, cut))

"""Who may run beside whom: `max_concurrency` of a tool over all Runs, `parallel=False` within a lane."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass

from psych_runtime_core.ids import RunId, ToolCallId


@dataclass(frozen=True, slots=True)
class PermitClaim:
    """What a call needs before it may start: room in its lane, and room at its tool (None: unbounded)."""

    call_id: ToolCallId
    run_id: RunId
    lane: str
    tool: str
    parallel: bool
    max_concurrency: int | None


class Permits:
    """The permits of one process, on one loop. A permit belongs to a call: found again, given back once."""

    def __init__(self) -> None:
        self._held: dict[ToolCallId, PermitClaim] = {}
        self._lanes: defaultdict[tuple[RunId, str], _Room] = defaultdict(_Room)
        self._tools: defaultdict[str, _Room] = defaultdict(_Room)

    def holds(self, call_id: ToolCallId) -> bool:
        """Whether the call has its permit."""
        return call_id in self._held

    async def take(self, claim: PermitClaim) -> None:
        """Wait until the call may start, first come first served; at once when it has its permit already.

        Whoever is cancelled here holds nothing.
        """
        if self.holds(claim.call_id):
            return
        try:
            # Lane before tool, always: who has a tool's room waits for nothing, so no two wait in a ring.
            lane = self._lanes[claim.run_id, claim.lane]
            await lane.enter(_Guest(claim.call_id, exclusive=not claim.parallel))
            if claim.max_concurrency is not None:
                tool = self._tools[claim.tool]
                await tool.enter(_Guest(claim.call_id, capacity=claim.max_concurrency))
        except asyncio.CancelledError:
            self._leave(claim)
            raise
        self._held[claim.call_id] = claim

    def give_back(self, call_id: ToolCallId) -> None:
        """End the permit of a call; of one that has none it does nothing."""
        claim = self._held.pop(call_id, None)
        if claim is not None:
            self._leave(claim)

    def _leave(self, claim: PermitClaim) -> None:
        if claim.max_concurrency is not None:
            self._tools[claim.tool].leave(claim.call_id)
        lane = self._lanes[claim.run_id, claim.lane]
        lane.leave(claim.call_id)
        if lane.empty:
            del self._lanes[claim.run_id, claim.lane]


@dataclass(frozen=True, slots=True)
class _Guest:
    call_id: ToolCallId
    exclusive: bool = False
    capacity: int | None = None

    def fits(self, inside: Collection[_Guest]) -> bool:
        if (self.exclusive and inside) or any(guest.exclusive for guest in inside):
            return False
        return self.capacity is None or len(inside) < self.capacity


class _Room:
    """Guests in it, and guests who wait in their order."""

    def __init__(self) -> None:
        self._inside: dict[ToolCallId, _Guest] = {}
        self._queue: deque[tuple[_Guest, asyncio.Future[None]]] = deque()

    @property
    def empty(self) -> bool:
        return not self._inside and not self._queue

    async def enter(self, guest: _Guest) -> None:
        if not self._queue and guest.fits(self._inside.values()):
            self._inside[guest.call_id] = guest
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append((guest, turn))
        try:
            await turn
        except asyncio.CancelledError:
            # It may have been let in at the very moment at which it was cancelled, and then it is inside.
            self._queue = deque(waiting for waiting in self._queue if waiting[1] is not turn)
            raise

    def leave(self, call_id: ToolCallId) -> None:
        """Let `call_id` out, wherever it got to, and in whoever comes next."""
        self._inside.pop(call_id, None)
        while self._queue and self._queue[0][0].fits(self._inside.values()):
            guest, turn = self._queue.popleft()
            if not turn.done():
                self._inside[guest.call_id] = guest
                turn.set_result(None)

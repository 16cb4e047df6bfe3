"""Keeps the leases of a Worker: all of them in one renewal, each third of a lease."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from psych_runtime.attempt.pauses import Pauses
from psych_runtime.attempt.seat import Seat
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.claims import Renewed
from psych_runtime_core.ports.store import Store

logger = logging.getLogger("psych_runtime.worker")


class Keeper:
    """Renews what its Worker holds. Renewals that fail neither keep an Attempt alive nor end it early."""

    def __init__(self, store: Store, seats: Mapping[RunId, Seat], lease_seconds: float) -> None:
        self._store, self._seats, self._seconds = store, seats, lease_seconds
        self._pauses = Pauses(store.clock)

    async def keep(self) -> None:
        """Renew for as long as the Worker runs."""
        while True:
            await self._rest()
            while not await self._renew():
                await self._pauses.sleep()
                self._wake_the_late()
            self._pauses.reset()

    async def _rest(self) -> None:
        """A third of a lease. A loop that was blocked all the while wakes too late, and says so."""
        third, began = self._seconds / 3, self._store.clock.monotonic()
        await self._store.clock.sleep(third)
        stall = self._store.clock.monotonic() - began - third
        if stall > third:
            working = ", ".join(sorted(self._tools_at_work())) or "none"
            logger.warning("the event loop stood still for %.1f s; tools at work: %s", stall, working)

    def _tools_at_work(self) -> set[str]:
        journals = (seat.journal for seat in self._seats.values() if seat.journal is not None)
        calls = (call for journal in journals for call in journal.state.calls.values())
        return {call.tool for call in calls if call.tool is not None}

    async def _renew(self) -> bool:
        """One renewal of all leases; whether the store answered."""
        seats = list(self._seats.values())
        if not seats:
            return True
        sent_at = self._store.clock.monotonic()
        try:
            answers = await self._store.renew(
                [seat.hold.lease for seat in seats], lease_seconds=self._seconds
            )
        except Exception as error:
            logger.warning("the leases could not be renewed: %s", error)
            return False
        for seat, renewed in zip(seats, answers, strict=True):
            self._take(seat, renewed, sent_at)
        self._wake_the_late()
        return True

    def _take(self, seat: Seat, renewed: Renewed, sent_at: float) -> None:
        if renewed.outcome == "kept":
            seat.hold.renewed(renewed.lease, sent_at=sent_at, lease_seconds=self._seconds)
            seat.renewed_at(renewed.head)
        elif renewed.outcome == "lost":
            seat.hold.lose()
            seat.inbox.wake()

    def _wake_the_late(self) -> None:
        """An Attempt past its fence must notice, though nothing else happens to it."""
        for seat in self._seats.values():
            if seat.hold.seconds_left <= 0:
                seat.inbox.wake()

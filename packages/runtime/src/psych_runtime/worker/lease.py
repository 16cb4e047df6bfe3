"""Keeps the leases of a Worker: all of them in one renewal, each third of a lease."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from psych_runtime.attempt.pauses import Pauses
from psych_runtime.attempt.seat import Seat
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Renewed, Store

logger = logging.getLogger("psych_runtime.worker")


class Keeper:
    """Renews what its Worker holds. Renewals that fail neither keep an Attempt alive nor end it early."""

    def __init__(self, store: Store, seats: Mapping[RunId, Seat], lease_seconds: float) -> None:
        self._store, self._seats, self._seconds = store, seats, lease_seconds
        self._pauses = Pauses(store.clock)

    async def keep(self) -> None:
        """Renew for as long as the Worker runs."""
        while True:
            await self._store.clock.sleep(self._seconds / 3)
            while not await self._renew():
                await self._pauses.sleep()
                self._wake_the_late()
            self._pauses.reset()

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

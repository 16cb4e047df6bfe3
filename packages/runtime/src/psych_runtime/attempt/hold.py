"""A lease as its holder sees it."""

from __future__ import annotations

from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import LeaseLost
from psych_runtime_core.ports.runs import Lease

# The rest of a lease is left for clocks that run apart and for bytes on their way.
SAFE_SHARE = 0.9


class Hold:
    """A lease, and the monotonic moment up to which its holder may write and begin."""

    def __init__(self, lease: Lease, clock: Clock, *, sent_at: float, lease_seconds: float) -> None:
        self.lease = lease
        self._clock = clock
        self._lost = False
        self._fence = sent_at + SAFE_SHARE * lease_seconds

    @property
    def seconds_left(self) -> float:
        return 0.0 if self._lost else max(self._fence - self._clock.monotonic(), 0.0)

    def renewed(self, lease: Lease, *, sent_at: float, lease_seconds: float) -> None:
        """The store took a renewal that was sent at `sent_at`."""
        self.lease = lease
        self._fence = sent_at + SAFE_SHARE * lease_seconds

    def lose(self) -> None:
        """The store says that the lease is gone."""
        self._lost = True

    def check(self) -> None:
        """Raise `LeaseLost` unless the holder may still write and begin."""
        if self.seconds_left <= 0:
            raise LeaseLost(self.lease.run_id, self.lease.worker_id)

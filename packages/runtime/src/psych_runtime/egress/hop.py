"""One hop under way: what is known of it, for whoever judges, sends and tells of it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from psych_runtime_core.ports.egress import EgressRequest

_run: ContextVar[str | None] = ContextVar("psych_egress_run", default=None)


@contextmanager
def run_in_audit(run_id: str) -> Generator[None]:
    """Requests made inside are told of with this Run."""
    token = _run.set(run_id)
    try:
        yield
    finally:
        _run.reset(token)


@dataclass(slots=True, eq=False)
class Hop:
    """`sent` holds from the moment its first byte is handed to the socket. Bytes are of bodies."""

    asked: EgressRequest
    run_id: str | None = field(default_factory=_run.get)
    began: float = field(default_factory=time.monotonic)
    address: str | None = None
    sent: bool = False
    status: int | None = None
    bytes_out: int = 0
    bytes_in: int = 0
    decoded_bytes_in: int = 0

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began


# The HTTP layer connects and writes in the task that sends, so this is how both know for which hop.
hop_of_this_task: ContextVar[Hop] = ContextVar("psych_egress_hop")

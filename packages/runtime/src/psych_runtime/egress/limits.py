"""How long a request may take, and how large a reply may be."""

from __future__ import annotations

from dataclasses import dataclass, fields

MAX_RESPONSE_BYTES = 16 * 1024 * 1024
MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTimeouts:
    """Seconds for each step of a request; None is no limit.

    `connect` bounds the look-up of the name with the connection, and then the handshake. `read` is the
    longest wait for the head of a reply, and then the longest silence: it runs only while somebody waits for
    bytes, so a slow reader never trips it. `pool` is the wait while all connections of a pool are in use:
    that is no fault of a server, so it has no limit of its own unless one is given. `total` bounds the whole,
    that wait, redirects and the reading of the body included.
    """

    connect: float | None = 10.0
    read: float | None = 30.0
    write: float | None = 30.0
    pool: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            seconds = getattr(self, field.name)
            if seconds is not None and not seconds > 0:
                raise ValueError(
                    f"{field.name}={seconds!r} is no time: give seconds above 0, or None for no limit"
                )

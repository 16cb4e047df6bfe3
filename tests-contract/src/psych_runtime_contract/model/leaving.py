"""Whether a client that is done leaves its connection, and does so within a second."""

from __future__ import annotations

import time

import anyio.lowlevel

from psych_runtime.testing.http_stub import SeenRequest


async def holds_on(seen: SeenRequest) -> bool:
    """Whether the client still holds its socket a second after it was done.

    The second is one in which this thread works: while a busy machine lets it wait, nobody could leave.
    """
    # The loop's own time runs ahead while a reply is silent.
    until = time.thread_time() + 1
    while seen.closed_early_at is None:
        if time.thread_time() > until:
            return True
        await anyio.lowlevel.checkpoint()
    return False

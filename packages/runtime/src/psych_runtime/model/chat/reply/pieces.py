"""The bytes of a reply, and how long each read of them may take."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio

from psych_runtime_core.errors import RequestFailed


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the end of a stream is waited for, when all that matters is there.

    After a finish reason, seconds without data, comments or not, and seconds in all; after `[DONE]`, seconds
    and bytes for all that is left: usage that comes late, and an end that lets the connection be used again.
    """

    finished_seconds: float = 10.0
    total_seconds: float = 60.0
    done_seconds: float = 0.25
    done_bytes: int = 64 * 1024


DEFAULT_PATIENCE = Patience()


class Pieces:
    """The bytes of a body, read with the patience that its state deserves.

    While no end is in sight a read takes as long as the transport lets it, and its errors are errors. Behind
    a finish reason silence and breaks are the end; the time that a consumer takes is no silence.
    """

    def __init__(self, body: AsyncIterator[bytes], patience: Patience) -> None:
        self._body, self._patience = body, patience
        self._back: list[bytes] = []
        self._finished = False
        # Seconds of reading that are left without data, and in all.
        self._silence_left, self._total_left = patience.finished_seconds, patience.total_seconds
        self._done_by = math.inf
        self._left = patience.done_bytes

    def finish(self) -> None:
        """A finish reason is in, or more data behind it."""
        self._finished, self._silence_left = True, self._patience.finished_seconds

    def done(self) -> None:
        """The mark of the end is in."""
        if self._done_by == math.inf:
            self._finished, self._done_by = True, anyio.current_time() + self._patience.done_seconds

    def put_back(self, piece: bytes) -> None:
        """Read `piece` again, before all else."""
        self._back.append(piece)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._back:
            return self._back.pop()
        if not self._finished:
            return await anext(self._body)
        now = anyio.current_time()
        by = min(self._done_by, now + self._silence_left, now + self._total_left)
        # A body that is always ready never waits, so nothing would cut it.
        if by > now:
            try:
                with anyio.CancelScope(deadline=by):
                    return self._counted(await anext(self._body))
            except RequestFailed:
                # The answer is there: a connection that breaks behind it takes nothing from it.
                pass
            finally:
                self._spend(anyio.current_time() - now)
        raise StopAsyncIteration

    def _spend(self, seconds: float) -> None:
        self._silence_left -= seconds
        self._total_left -= seconds

    def _counted(self, piece: bytes) -> bytes:
        if self._done_by < math.inf:
            self._left -= len(piece)
            if self._left < 0:
                raise StopAsyncIteration
        return piece

"""One hop on its way: every wait is bounded, every failure named, and it ends exactly once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from types import AsyncGeneratorType
from typing import Literal, NamedTuple, cast

import anyio
import httpcore2

from psych_runtime.egress.audit import Auditor
from psych_runtime.egress.failures import WIRE_ERRORS, Progress, failure
from psych_runtime.egress.hop import Hop, hop_of_this_task
from psych_runtime.egress.leftover import close_unless_clean
from psych_runtime.egress.pools import Pools, SharedPool
from psych_runtime_core.errors import RequestFailed


class HopTimeouts(NamedTuple):
    """Those of the steps of a hop, by their names, and of its whole request, which has until `deadline`."""

    steps: Mapping[str, float | None]
    total: float | None
    deadline: float


class Passage:
    """What a hop holds while it lasts, and gives back: the use of a pool, and the connection of its reply."""

    def __init__(self, hop: Hop, timeouts: HopTimeouts, pools: Pools, auditor: Auditor) -> None:
        self.hop = hop
        self._timeouts, self._pools, self._auditor = timeouts, pools, auditor
        self._pool: SharedPool | None = None
        self._turn: Literal["none", "awaited", "here"] = "none"
        self._reply: httpcore2.Response | None = None
        self._wire: AsyncIterator[bytes] | None = None
        self._ended = False

    @property
    def origin(self) -> str:
        return self.hop.asked.origin

    async def enter(self, pool: SharedPool) -> bool:
        """Use `pool`, which was taken, until the passage ends. False: only after a wait for its turn."""
        if pool is self._pool:
            await self._pools.give_back(pool)
            return True
        await self._leave_pool()
        self._pool = pool
        try:
            pool.turns.acquire_on_behalf_of_nowait(self)
        except anyio.WouldBlock:
            await self._await_turn(pool)
            return False
        self._turn = "here"
        return True

    async def send(self, request: httpcore2.Request) -> httpcore2.Response:
        """The head of the reply."""
        assert self._pool is not None
        self._reply = reply = await self._pool.pool.handle_async_request(request)
        self._wire = aiter(cast("AsyncIterable[bytes]", reply.stream))
        self.hop.status = reply.status
        return reply

    async def more(self) -> bytes | None:
        """The next bytes of the body as they came, None at its end."""
        assert self._wire is not None
        token = hop_of_this_task.set(self.hop)
        try:
            if self._timeouts.total is not None:
                with self.bounded():
                    return await anext(self._wire, None)
            # A stream has thousands of pieces, and usually no end of time: each costs no more than it must.
            return await anext(self._wire, None)
        except WIRE_ERRORS as error:
            raise self._failure(error) from _typed(error)
        finally:
            hop_of_this_task.reset(token)

    @contextmanager
    def bounded(self) -> Generator[None]:
        """Within it, a wait ends at the deadline of the whole, and errors of the wire become ours."""
        _, total, deadline = self._timeouts
        try:
            with anyio.CancelScope(deadline=deadline) as scope:
                yield
        except WIRE_ERRORS as error:
            raise self._failure(error) from _typed(error)
        if scope.cancelled_caught:
            detail = f"it was not done within {total:g} s"
            if self._pool is not None and self._turn == "awaited":
                detail = _no_turn(self._pool, total)
            raise RequestFailed(self.origin, "total", detail, sent=self.hop.sent, timed_out=True)

    async def end(self, error: BaseException | None = None) -> None:
        """Let go of everything, and tell of it. Only the first call counts."""
        if self._ended:
            return
        self._ended = True
        try:
            with anyio.CancelScope(shield=True):
                await self._let_go()
                await self._leave_pool(error)
        finally:
            self._auditor.ended(self.hop, error)

    def _failure(self, error: Exception) -> RequestFailed | ValueError:
        hop = self.hop
        return failure(error, Progress(self.origin, hop.sent, hop.seconds, self._timeouts.steps))

    async def _await_turn(self, pool: SharedPool) -> None:
        self._pools.tell_of_wait()
        self._turn, seconds = "awaited", self._timeouts.steps.get("pool")
        try:
            with anyio.fail_after(seconds):
                await pool.turns.acquire_on_behalf_of(self)
        except TimeoutError:
            detail = _no_turn(pool, seconds)
            raise RequestFailed(self.origin, "connect", detail, sent=False, timed_out=True) from None
        self._turn = "here"

    async def _leave_pool(self, error: BaseException | None = None) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        used = self._turn == "here"
        if used:
            pool.turns.release_on_behalf_of(self)
        self._turn = "none"
        # Who never had a turn knows nothing of the connections.
        await self._pools.give_back(pool, retire=used and _is_stuck(error, pool))

    async def _let_go(self) -> None:
        if self._reply is not None:
            await close_unless_clean(self._reply)
            await self._reply.aclose()
        # Another task may wait for bytes right now; that the connection is closed has woken it.
        wire: object = self._wire
        if isinstance(wire, AsyncGeneratorType) and not wire.ag_running:
            await cast("AsyncGenerator[bytes]", wire).aclose()


def _no_turn(pool: SharedPool, seconds: float | None) -> str:
    return (
        f"no connection was free within {seconds:g} s, for all {pool.connections} of its pool were in use; "
        "raise connections= of HttpTransport"
    )


def _typed(error: Exception) -> Exception | None:
    """The cause that may be shown: an error of the HTTP layer quotes what was sent and what came."""
    return error if isinstance(error, httpcore2.TimeoutException) else None


def _is_stuck(error: BaseException | None, pool: SharedPool) -> bool:
    """Whether a pool may hold a connection that never gets free: one to a proxy that failed on its way."""
    failed_on_its_way = isinstance(error, RequestFailed) and error.phase == "connect"
    return failed_on_its_way and isinstance(pool.pool, httpcore2.AsyncHTTPProxy)

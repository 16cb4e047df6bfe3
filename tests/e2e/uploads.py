"""A blob that comes in slowly beside Workers on the same SQLite file, whose leases must hold meanwhile."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from psych_runtime import Limits, Store
from psych_runtime.testing import FakeModel, FakeTurn, StoreProxy
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest
from psych_runtime_sqlite import SQLiteStore
from tests.e2e.stage import ACME, agent, at_work, begun, ended, registered

T = TypeVar("T")

WORKERS = 4
SPEC = agent("work", limits=Limits(max_turns=10_000, max_steps=10_000))


@dataclass(frozen=True)
class Upload:
    """`piece` bytes each `pause` seconds, for `seconds`; a turn of a Run takes about `turn_seconds`."""

    seconds: float
    piece: int
    pause: float
    lease_seconds: float
    turn_seconds: float


@dataclass(frozen=True)
class Outcome:
    """Of the Runs beside it: how often each was claimed, and how long a call of a Worker took at most."""

    uploaded: int
    claims: tuple[int, ...]
    crashes: tuple[int, ...]
    slowest: float
    calls: int


class TimedStore(StoreProxy):
    """Notes how long each call took."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.seconds: list[float] = []

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        del name
        began_at = time.monotonic()
        try:
            return await call()
        finally:
            self.seconds.append(time.monotonic() - began_at)


async def beside_workers(path: Path, upload: Upload) -> Outcome:
    """Put the blob while each Worker drives a Run, turn after turn, through a handle of its own."""
    over = asyncio.Event()

    def goes_on(request: ModelRequest, context: ModelCallContext) -> FakeTurn:
        del request
        if over.is_set():
            return FakeTurn("Done.")
        return FakeTurn(tool_calls=[("work", {"turn": context.turn, "seconds": upload.turn_seconds})])

    async with SQLiteStore(path) as store, AsyncExitStack() as stack:
        await store.migrate()
        run_ids = [await begun(store, SPEC) for _ in range(WORKERS)]
        handles = [TimedStore(await stack.enter_async_context(SQLiteStore(path))) for _ in range(WORKERS)]
        for handle in handles:
            model = FakeModel().turn(goes_on).repeat()
            at = at_work(handle, model, registered(work), concurrency=1, lease_seconds=upload.lease_seconds)
            await stack.enter_async_context(at)
        key = BlobKey(ACME.tenant, run_ids[0], "call_1.1")
        known = await store.blobs.put(key, trickle(upload), content_type="application/x-any")
        over.set()
        for run_id in run_ids:
            await ended(store, run_id)
        headers = [await store.get_run(RunId(run_id)) for run_id in run_ids]
        seconds = [each for handle in handles for each in handle.seconds]
        return Outcome(
            uploaded=known.size,
            claims=tuple(header.epoch for header in headers),
            crashes=tuple(header.crashes for header in headers),
            slowest=max(seconds),
            calls=len(seconds),
        )


async def trickle(upload: Upload) -> AsyncGenerator[bytes]:
    end = time.monotonic() + upload.seconds
    while time.monotonic() < end:
        yield bytes(upload.piece)
        await asyncio.sleep(upload.pause)


async def work(turn: int, seconds: float) -> str:
    """Work for a moment."""
    await asyncio.sleep(seconds)
    return f"worked in turn {turn}"

"""A store whose clock moves by itself passes, too: time is waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

import pytest

from psych_runtime.testing.clock import START
from psych_runtime_contract.store import Caps
from psych_runtime_contract.store.changes import StoreChanges
from psych_runtime_contract.store.claims import StoreClaim
from psych_runtime_contract.store.sequences import StoreSequences
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ports.store import Store
from psych_runtime_memory import InMemoryStore

SPEED = 10


class HastyClock:
    """A clock that nobody moves, and that runs so much faster than others that no test waits for long."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return (time.monotonic() - self._began) * SPEED

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0) / SPEED)


class TestWaitedStore(StoreClaim, StoreChanges, StoreSequences):
    caps = Caps(durable=False, handles=False)
    sequences = 1 / 20

    @pytest.fixture
    async def store(self) -> AsyncGenerator[Store]:
        async with InMemoryStore(clock=HastyClock()) as store:
            yield store


async def test_time_that_is_not_moved_is_waited_for() -> None:
    clock = HastyClock()
    waited = StoreTime(clock)
    instant = waited.after(1)
    await waited.nears(instant)
    assert waited.now() < instant
    await waited.reaches(instant)
    assert waited.now() > instant

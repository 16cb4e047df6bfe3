"""The tests: all orders in which four actors can go on, and drawn ones of more."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Hashable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import ClassVar

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import admit
from psych_runtime_contract.store.schedules.actors import ABORT, RESUME, WAKES, Actor, lapse, waker, worker
from psych_runtime_contract.store.schedules.play import Playing
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store

EVERY_SCHEDULE = 1_000_000
CREWS = (
    ("worker", "worker 2", "resumer", "interrupter"),
    ("worker", "worker 2", "resumer", "time"),
)
CROWD = ("worker", "worker 2", "worker 3", "resumer", "resumer 2", "interrupter", "time", "time 2")


def crew(time: StoreTime, names: tuple[str, ...]) -> dict[str, Actor]:
    """Actors by their names; time is none where it is not moved."""
    kinds = {"resumer": waker(RESUME), "interrupter": waker(ABORT), "time": lapse(time)}
    there = [name for name in names if time.is_moved or not name.startswith("time")]
    return {name: kinds.get(name.partition(" ")[0]) or worker(name) for name in there}


class StoreSchedules(StoreBase):
    """No order of calls loses a wake, or settles a Run twice."""

    schedules: ClassVar[int] = 300
    """How many orders are played, from everywhere among them; `EVERY_SCHEDULE` plays all."""
    numbers = count()

    @pytest.mark.parametrize("names", [pytest.param(names, id=", ".join(names)) for names in CREWS])
    async def test_no_order_of_calls_loses_a_wake(
        self, store: Store, time: StoreTime, names: tuple[str, ...]
    ) -> None:
        actors, known, draw = crew(time, names), set[Hashable](), Random(0)
        orders: list[tuple[str, ...]] = [()]
        for _ in range(self.schedules):
            if not orders:
                break
            order = orders.pop(draw.randrange(len(orders)))
            async with self.playing(store, actors) as played:
                for name in order:
                    await played.go_on(name)
                while (here := await place(played, time)) not in known:
                    known.add(here)
                    if not played.waiting:
                        await check_end(played, time)
                        break
                    name, *others = played.waiting
                    orders += [(*order, other) for other in others]
                    order = (*order, name)
                    await played.go_on(name)

    @pytest.mark.parametrize("seed", range(20))
    async def test_no_drawn_order_of_many_loses_a_wake(
        self, store: Store, time: StoreTime, seed: int
    ) -> None:
        draw = Random(seed)
        for _ in range(5):
            async with self.playing(store, crew(time, CROWD)) as played:
                while played.waiting:
                    await played.go_on(draw.choice(played.waiting))
                await check_end(played, time)

    @asynccontextmanager
    async def playing(self, store: Store, actors: Mapping[str, Actor]) -> AsyncGenerator[Playing]:
        """Actors before a Run of their own."""
        run_id = RunId(f"run_{next(self.numbers)}")
        await admit(store, run_id, tenant=run_id)
        async with Playing(store, run_id, actors).begun(actors) as played:
            yield played


async def place(played: Playing, time: StoreTime) -> Hashable:
    """Equal where everything goes on alike: the Run, and what each actor knows."""
    header, log = await played.store.get_run(played.run_id), await played.store.read(played.run_id)
    written = tuple((entry.body, entry.epoch) for entry in log)
    is_over = header.lease is not None and header.lease.expires_at <= time.now()
    return written, header.epoch, header.lease is None, is_over, header.ready_at is None, played.known


async def check_end(played: Playing, time: StoreTime) -> None:
    """All are done. Whoever looks now must find what was left to do, and nothing else."""
    store, run_id = played.store, played.run_id
    header, log = await store.get_run(run_id), await store.read(run_id)
    assert header.head == log[-1].head, "log and header agree"
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1)), "a log has no gap"
    was_woken = any(entry.body in WAKES for entry in log)
    if header.ready_at is None and not header.terminal:
        assert header.lease is None, "who holds a Run gives it back in time"
        assert not was_woken, "a Run that waits was not woken"
    if header.ready_at is not None:
        await time.reaches(header.ready_at)
        await worker("the last")(store, run_id)
    header, log = await store.get_run(run_id), await store.read(run_id)
    settled = [entry for entry in log if entry.type == "run_settled"]
    assert len(settled) == was_woken == (header.terminal is not None), "a Run that was woken ends, once"

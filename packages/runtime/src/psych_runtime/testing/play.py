"""Playing a scenario: its Runs, the world around them, and whoever drives them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from psych_runtime import Runtime, Scope, ToolRegistry, Worker, dispatch, status
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.testing.gated import Gate, GatedBlobs, GatedModel, GatedPolicy, GatedStore, gated_tools
from psych_runtime.testing.ledger import EffectLedger, Invocation
from psych_runtime.testing.outside import Outside
from psych_runtime.testing.repeating_model import RepeatingModel
from psych_runtime.testing.scenario import Scenario, ScenarioStuck
from psych_runtime.testing.switch import Switch
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Entry, PlainCodec, Record, decode

TENANT = Scope(tenant="acme")


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: of a lease, between polls, and until a Run that has not settled is stuck."""

    lease: float = 30.0
    poll: float = 5.0
    patience: float = 86_400.0


@dataclass(frozen=True)
class PlayedRun:
    """A Run after its end; `acknowledged` are the ids of what the store took from people."""

    header: RunHeader
    entries: tuple[Entry, ...]
    acknowledged: tuple[str, ...]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The log, decoded."""
        run_id, scope = self.header.run_id, self.header.scope
        return tuple(decode(entry, run_id=run_id, scope=scope, codec=PlainCodec()) for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a playing: `seconds` from the first dispatch to the last end, `late` from the kill.

    `heads` are the digests of all that the store acknowledged to the Worker that was killed.
    """

    runs: tuple[PlayedRun, ...]
    effects: tuple[Invocation, ...]
    heads: tuple[bytes, ...]
    seconds: float
    late: float


async def play(scenario: Scenario, store: Store, pace: Pace, switch: Switch | None = None) -> Played:
    """Play once. With a `switch` a first Worker is under it; a second one takes over where it dies."""
    clock, ledger, model = store.clock, EffectLedger(clock=store.clock), _repeatable(scenario.model())
    began_at = clock.monotonic()
    run_ids = [await dispatched(scenario, store) for _ in range(scenario.runs)]
    taken: dict[RunId, list[str]] = {run_id: [] for run_id in run_ids}
    outsides = [Outside(scenario, store, run_id, taken[run_id].append) for run_id in run_ids]
    world = asyncio.gather(*(outside.live() for outside in outsides))
    heads: list[bytes] = []
    cast = Cast(scenario, store, model, ledger.wrap(scenario.registry()), pace, heads.append)
    killed_at = began_at
    try:
        if switch is not None:
            await cast.drive(world, run_ids, switch=switch)
            killed_at = clock.monotonic()
        if not world.done():
            await cast.drive(world, run_ids)
        ended_at = clock.monotonic()
    finally:
        world.cancel()
    return Played(
        runs=tuple([await played_run(store, run_id, taken[run_id]) for run_id in run_ids]),
        effects=ledger.invocations,
        heads=tuple(heads),
        seconds=ended_at - began_at,
        late=ended_at - killed_at,
    )


@dataclass(frozen=True)
class Cast:
    """What the Workers of a playing share."""

    scenario: Scenario
    store: Store
    model: ModelClient
    tools: ToolRegistry
    pace: Pace
    on_head: Callable[[bytes], None]

    def worker(self, gate: Gate | None = None) -> Worker:
        """A Worker; all its ports are behind `gate`, a Policy and blobs too if the scenario has them."""
        ports = dict(self.scenario.runtime)
        store, model, registry = self.store, self.model, self.tools
        if gate is not None:
            store, model = GatedStore(store, gate, self.on_head), GatedModel(model, gate)
            registry = gated_tools(registry, gate)
            for name, gated in (("policy", GatedPolicy), ("blobs", GatedBlobs)):
                if name in ports:
                    ports[name] = gated(ports[name], gate)
        runtime = Runtime(store=store, model=model, registry=registry, **ports)
        return Worker(runtime, lease_seconds=self.pace.lease, poll_interval=self.pace.poll)

    async def drive(
        self,
        world: asyncio.Future[Any],
        run_ids: Sequence[RunId],
        *,
        switch: Switch | None = None,
        gate: Gate | None = None,
    ) -> None:
        """Run one Worker until every Run has settled, or `switch` has killed it.

        Raises `ScenarioStuck`, and whatever the Worker or the world raises.
        """
        worker = self.worker(switch.gate if switch else gate)
        running = switch.start(worker.run()) if switch else asyncio.create_task(worker.run())
        ends: set[asyncio.Future[Any]] = {world, running}
        if switch is not None:
            ends.add(switch.death)
        await asyncio.wait(ends, timeout=self.pace.patience, return_when=asyncio.FIRST_COMPLETED)
        if switch is not None:
            if switch.dead:
                await switch.bury()
                return
            switch.retire()
        if running.done():
            running.result()
        if not world.done():
            raise await self._stuck(run_ids)
        worker.stop()
        await running
        world.result()

    async def _stuck(self, run_ids: Sequence[RunId]) -> ScenarioStuck:
        for run_id in run_ids:
            stands = await status(self.store, run_id)
            if stands.settled_at is None:
                return ScenarioStuck(run_id, repr(stands))
        return ScenarioStuck(run_ids[0], "every Run has settled, and its people have not noticed")


async def dispatched(scenario: Scenario, store: Store) -> RunId:
    """A Run of the scenario, begun."""
    return (await dispatch(store, scenario.spec, TENANT, input=scenario.input)).run_id


async def played_run(store: Store, run_id: RunId, acknowledged: Iterable[str]) -> PlayedRun:
    """A Run as it is stored."""
    header = await store.get_run(run_id)
    entries: list[Entry] = []
    while page := await store.read(run_id, len(entries)):
        entries += page
    return PlayedRun(header, tuple(entries), tuple(acknowledged))


def _repeatable(model: ModelClient) -> ModelClient:
    return model if isinstance(model, FakeModel) else RepeatingModel(model)

"""Playing a scenario: its Runs, the world around them, and whoever drives them."""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Sequence
from dataclasses import dataclass, field

from psych_runtime import Runtime, Scope, Worker, dispatch, status
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.testing.gated import Gate, GatedModel, GatedPolicy, GatedStore, gated_tools
from psych_runtime.testing.ledger import EffectLedger, Invocation
from psych_runtime.testing.outside import Outside
from psych_runtime.testing.repeating_model import RepeatingModel
from psych_runtime.testing.scenario import Scenario, ScenarioStuck
from psych_runtime.testing.switch import Switch
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.ports.policy import AllowAll
from psych_runtime_core.ports.store import RunHeader, Store
from psych_runtime_core.records import Entry

TENANT = Scope(tenant="acme")


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: of a lease, between polls, and until a Run that has not settled is stuck."""

    lease: float = 30.0
    poll: float = 5.0
    patience: float = 86_400.0


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """A Run after its end; `acknowledged` are the ids of what the store took from people."""

    header: RunHeader
    entries: tuple[Entry, ...]
    acknowledged: tuple[str, ...]


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
    run_ids = [await _dispatched(scenario, store) for _ in range(scenario.runs)]
    outsides = [Outside(scenario, store, run_id) for run_id in run_ids]
    world = asyncio.gather(*(outside.live() for outside in outsides))
    cast = Cast(scenario, store, ledger, model, pace)
    killed_at = began_at
    try:
        if switch is not None:
            await cast.drive(world, run_ids, switch)
            killed_at = clock.monotonic()
        if not world.done():
            await cast.drive(world, run_ids)
        ended_at = clock.monotonic()
    finally:
        world.cancel()
    return Played(
        runs=tuple([await _played(store, outside, run_id) for outside, run_id in zip(outsides, run_ids, strict=True)]),
        effects=ledger.invocations,
        heads=tuple(cast.heads),
        seconds=ended_at - began_at,
        late=ended_at - killed_at,
    )


@dataclass(frozen=True)
class Cast:
    """What the Workers of a playing share."""

    scenario: Scenario
    store: Store
    ledger: EffectLedger
    model: ModelClient
    pace: Pace
    heads: list[bytes] = field(default_factory=list[bytes])

    def worker(self, gate: Gate | None = None) -> Worker:
        """A Worker with tools registered anew; all its ports are behind `gate`."""
        ports = {"policy": AllowAll(), **self.scenario.runtime}
        registry = self.ledger.wrap(self.scenario.registry())
        if gate is None:
            runtime = Runtime(store=self.store, model=self.model, registry=registry, **ports)
        else:
            ports["policy"] = GatedPolicy(ports["policy"], gate)
            runtime = Runtime(
                store=GatedStore(self.store, gate, self.heads),
                model=GatedModel(self.model, gate),
                registry=gated_tools(registry, gate),
                **ports,
            )
        return Worker(runtime, lease_seconds=self.pace.lease, poll_interval=self.pace.poll)

    async def drive(
        self, world: asyncio.Future[list[None]], run_ids: Sequence[RunId], switch: Switch | None = None
    ) -> None:
        """Run one Worker until every Run has settled, or `switch` has killed it.

        Raises `ScenarioStuck`, and whatever the Worker or the world raises.
        """
        worker = self.worker(switch.gate if switch else None)
        running = switch.start(worker.run()) if switch else asyncio.create_task(worker.run())
        death = asyncio.ensure_future(switch.death()) if switch else running
        await asyncio.wait({world, running, death}, timeout=self.pace.patience, return_when=FIRST_COMPLETED)
        if switch is not None:
            death.cancel()
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


async def _dispatched(scenario: Scenario, store: Store) -> RunId:
    return (await dispatch(store, scenario.spec, TENANT, input=scenario.input)).run_id


async def _played(store: Store, outside: Outside, run_id: RunId) -> PlayedRun:
    header = await store.get_run(run_id)
    entries: list[Entry] = []
    while page := await store.read(run_id, len(entries)):
        entries += page
    return PlayedRun(header, tuple(entries), tuple(outside.acknowledged))


def _repeatable(model: ModelClient) -> ModelClient:
    return model if isinstance(model, FakeModel) else RepeatingModel(model)

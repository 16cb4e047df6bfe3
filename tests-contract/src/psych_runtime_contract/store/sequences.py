"""The tests that run the machines on a store, and how."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.machine import Example, Judged, StoreMachine, ValuesMachine
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.ports.kv import KeyValue
from psych_runtime_core.ports.store import Store

T = TypeVar("T")


def run_machine(machine: type[Example], judged: Judged, how: settings) -> None:
    """Run a machine on a store; not in the loop of that store. Raises what it finds."""
    run_state_machine_as_test(type(machine.__name__, (machine,), {"judged": judged}), settings=how)


class StoreSequences(StoreBase):
    """Any sequence of calls does what a model of the rules does."""

    sequences: ClassVar[float] = 1 / 4
    """How many are drawn for each example elsewhere: one is many calls."""

    async def test_any_sequence_of_calls_does_what_the_model_does(
        self, store: Store, time: StoreTime
    ) -> None:
        await self.agrees_with(StoreMachine, store, time)

    async def test_any_sequence_of_calls_on_values_does_what_the_model_does(
        self, store: Store, time: StoreTime, kv: KeyValue
    ) -> None:
        await self.agrees_with(ValuesMachine, store, time)

    async def agrees_with(self, machine: type[Example], store: Store, time: StoreTime) -> None:
        """Run the machine on the store, which does what the model of that machine does."""
        how = settings(
            max_examples=max(1, round(settings().max_examples * self.sequences)),
            phases=[Phase.generate, Phase.shrink],
            stateful_step_count=80,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        loop = asyncio.get_running_loop()

        def do(call: Coroutine[Any, Any, T], /) -> T:
            return asyncio.run_coroutine_threadsafe(call, loop).result()

        judged = Judged(store, time, do, hints=self.caps.push)
        await asyncio.to_thread(run_machine, machine, judged, how)

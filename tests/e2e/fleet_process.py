"""A process of a fleet: it begins Runs and works on everybody's, until it is killed."""

import asyncio
import random
from dataclasses import dataclass

from psych_runtime import Runtime, Scope, Store, ToolRegistry, Worker, dispatch, open_store
from psych_runtime.testing import EffectLedger, FakeModel, FakeTurn
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest
from tests.e2e.stage import agent

SPEC = agent("look", "pay")
TURNS_WITH_TOOLS = 4


@dataclass(frozen=True)
class Orders:
    """What a process is to do: begin so many Runs of a tenant, once each, and serve those of all."""

    url: str
    ledger: str
    tenant: str
    runs: int
    concurrency: int
    lease_seconds: float


def run(orders: Orders) -> None:
    """All of it. It does not return."""
    asyncio.run(work(orders))


async def work(orders: Orders) -> None:
    async with open_store(orders.url) as store:
        runtime = Runtime(store=store, model=model(), registry=EffectLedger(orders.ledger).wrap(registry()))
        worker = Worker(
            runtime,
            concurrency=orders.concurrency,
            lease_seconds=orders.lease_seconds,
            poll_interval=0.5,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(worker.run())
            group.create_task(begin(store, orders))


async def begin(store: Store, orders: Orders) -> None:
    """Begin them all; those that the last process of this name has begun are there already."""
    scope = Scope(tenant=orders.tenant)
    for number in range(orders.runs):
        await dispatch(store, SPEC, scope, input=f"Order {number}.", idempotency_key=f"order {number}")


def model() -> FakeModel:
    return FakeModel().turn(says).repeat()


def says(request: ModelRequest, context: ModelCallContext) -> FakeTurn:
    del request
    if context.turn > TURNS_WITH_TOOLS:
        return FakeTurn("All is paid.")
    return FakeTurn(tool_calls=[("look", {"turn": context.turn}), ("pay", {"cents": context.turn})])


def registry() -> ToolRegistry:
    tools = ToolRegistry()

    @tools.register(annotations="read-only")
    async def look(turn: int) -> str:
        """Look something up."""
        await asyncio.sleep(random.uniform(0, 0.4))
        return f"seen in turn {turn}"

    @tools.register
    async def pay(cents: int) -> str:
        """Pay somebody."""
        await asyncio.sleep(random.uniform(0, 0.4))
        return f"paid {cents}"

    return tools

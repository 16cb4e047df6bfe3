"""The agent of `demo.py`, and a Worker process that drives it: `demo_worker.py NAME FOLDER RUN`."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import anyio

from psych_runtime import (
    AgentSpec,
    CodeTool,
    Limits,
    ModelCallContext,
    ModelRef,
    ModelRequest,
    Runtime,
    ToolContext,
    ToolRegistry,
    Worker,
    open_store,
    stream,
)
from psych_runtime.testing.fake_model import FakeModel, FakeTurn

ANSWER = "I charged 42 EUR, and order A1 has shipped."
SPEC = AgentSpec(
    name="cashier",
    instructions="Charge the card for the order, then say where it is.",
    model=ModelRef(model="scripted"),
    tools=(CodeTool(name="charge_card"), CodeTool(name="lookup_order")),
    limits=Limits(max_turns=8, deadline_seconds=120),
)
# What the second Worker has to wait out.
LEASE_SECONDS = 2.0
# A first look-up that is never done in time: so the kill comes in the middle of it.
HANGS_SECONDS = 600.0


@dataclass(frozen=True)
class Place:
    """Where the demo keeps its store, and the ledger of what its tools really did."""

    folder: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'demo.db'}"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"


async def work(name: str, place: Place, run_id: str) -> None:
    """Drive Runs until this one has ended."""
    async with open_store(place.url) as store:
        runtime = Runtime(store=store, model=scripted_model(), registry=tools_of(name, place.ledger))
        worker = Worker(runtime, worker_id=name, lease_seconds=LEASE_SECONDS, poll_interval=0.5)
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            async for _ in stream(store, run_id):
                pass
            await worker.drain()


def tools_of(worker: str, ledger: Path) -> ToolRegistry:
    """The two tools. What they do to the world is a line in the ledger."""
    registry = ToolRegistry()

    @registry.register
    async def charge_card(order_id: str, amount: str) -> str:
        """Charge the card on file for an order."""
        enter(ledger, f"charge_card {amount} for order {order_id}, by {worker}")
        return f"charged {amount}"

    @registry.register(safe_to_retry=True)
    async def lookup_order(order_id: str, context: ToolContext) -> dict[str, str]:
        """Look up an order by its id."""
        enter(ledger, f"lookup_order {order_id}, by {worker}")
        if context.run_number == 1:
            await anyio.sleep(HANGS_SECONDS)
        return {"order_id": order_id, "status": "shipped"}

    return registry


def enter(ledger: Path, line: str) -> None:
    """Add a line, which is on the disk when this returns."""
    with ledger.open("a") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def scripted_model() -> FakeModel:
    """What the model says in each turn, in whichever process it is asked."""
    turns = {
        1: FakeTurn(tool_calls=[("charge_card", {"order_id": "A1", "amount": "42 EUR"})]),
        2: FakeTurn(tool_calls=[("lookup_order", {"order_id": "A1"})]),
        3: FakeTurn(ANSWER),
    }

    def by_turn(_: ModelRequest, context: ModelCallContext) -> FakeTurn:
        return turns[context.turn]

    return FakeModel().turn(by_turn).repeat()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Place(Path(sys.argv[2])), sys.argv[3]))

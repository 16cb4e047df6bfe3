"""The agent that is measured: a model that plays a script, and one tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Literal

import anyio

from psych_runtime import (
    AgentSpec,
    CodeTool,
    InMemoryStore,
    Limits,
    ModelCallContext,
    ModelRef,
    ModelRequest,
    Store,
    ToolRegistry,
)
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime_core.ports.model import StreamEvent

StoreKind = Literal["memory", "SQLite"]
KINDS: tuple[StoreKind, ...] = ("memory", "SQLite")

AGENT = AgentSpec(
    name="support",
    instructions="You answer questions about orders.",
    model=ModelRef(model="scripted"),
    tools=(CodeTool(name="lookup_order"),),
    limits=Limits(max_turns=10_000, max_steps=10_000),
)


async def lookup_order(order_id: str) -> dict[str, str]:
    """Look up an order by its id."""
    return {"order_id": order_id, "status": "shipped"}


REGISTRY = ToolRegistry()
REGISTRY.register(lookup_order, annotations="read-only")


class TimedModel(FakeModel):
    """Asks for the tool in each of `turns` turns, then answers, in every Run.

    It notes when it is asked, and is `done` when it has been asked for an answer.
    """

    def __init__(self, turns: int) -> None:
        super().__init__(play="per_lane")
        self.turns, self.asked_at = turns, list[float]()
        self.done = anyio.Event()
        for turn in range(turns):
            self.turn(tool_calls=[("lookup_order", {"order_id": f"A{turn:05}"})])
        self.turn("It was shipped.")

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        self.asked_at.append(perf_counter())
        if context.turn > self.turns:
            self.done.set()
        async for event in super().stream(request, context):
            yield event

    @property
    def turn_seconds(self) -> list[float]:
        """How long each turn of the only Run took, from its request to the next one."""
        return [later - sooner for sooner, later in pairwise(self.asked_at)]


def around(seconds: list[float], turn: int) -> float:
    """The usual time of a turn about this one, the first being 1."""
    reach = min(10, turn // 2)
    return median(seconds[max(0, turn - 1 - reach) : turn + reach])


@asynccontextmanager
async def new_store(kind: StoreKind, path: Path) -> AsyncGenerator[Store]:
    """An empty store; one in SQLite makes every commit survive power loss."""
    if kind == "memory":
        yield InMemoryStore()
        return
    async with SQLiteStore(path, synchronous="full") as store:
        await store.migrate()
        yield store

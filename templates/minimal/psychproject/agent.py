"""The agent: its tools, its Spec, a real model, and one that answers from a script."""

import os
from collections.abc import Callable
from typing import TypedDict

from psych_runtime import AgentSpec, CodeTool, Limits, ModelClient, ModelRef, OpenAICompatibleClient
from psych_runtime.testing.fake_model import FakeModel

ORDERS = {"A1": "shipped", "B2": "being packed"}


class PsychProjectOrder(TypedDict):
    """What is known of an order."""

    order_id: str
    status: str


async def lookup_order(order_id: str) -> PsychProjectOrder:
    """Look up an order by its id, such as A1."""
    if order_id not in ORDERS:
        raise LookupError(f"there is no order {order_id}")
    return {"order_id": order_id, "status": ORDERS[order_id]}


# What the Worker can run, and what the Spec grants of it: a new tool is named in both.
TOOLS: list[Callable[..., object]] = [lookup_order]
SPEC = AgentSpec(
    name="psych-project",
    instructions="You answer questions about orders. Look an order up before you say anything about it.",
    model=ModelRef(model=os.environ.get("PSYCH_MODEL", "gpt-4o")),
    tools=(CodeTool(name="lookup_order"),),
    limits=Limits(max_turns=8, deadline_seconds=120),
)


def real_model(api_key: str) -> ModelClient:
    """OpenAI, or whoever offers the same wire at PSYCH_BASE_URL."""
    base_url = os.environ.get("PSYCH_BASE_URL", "https://api.openai.com/v1")
    return OpenAICompatibleClient(base_url=base_url, api_key=api_key)


def scripted_model() -> ModelClient:
    """Looks up order A1 and says that it has shipped, whatever it is asked."""
    model = FakeModel(play="per_lane")
    model.turn(tool_calls=[("lookup_order", {"order_id": "A1"})])
    return model.turn("Order A1 has shipped.")

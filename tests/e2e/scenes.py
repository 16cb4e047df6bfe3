"""The agent that every crash is tried on: ten turns, calls side by side, people who edit and interrupt."""

import asyncio
from collections.abc import Mapping

from psych_runtime import AgentSpec, Answer, Limits, ModelRef, QueueKind, ToolRegistry
from psych_runtime.testing import FakeModel, Scenario, say
from psych_runtime.testing.scenario import When
from psych_runtime_core.messages import ToolResultMessage, UserMessage
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.state.waits import Wait

TOOLS = ("look_up", "note", "refund", "reserve")
STEER, FOLLOW_UP = "Be brief, please.", "And thank you for all of that."


async def look_up(order_id: str) -> Mapping[str, str]:
    """What is known of an order."""
    await asyncio.sleep(0.01)
    return {"order_id": order_id, "status": "shipped"}


async def note(text: str) -> str:
    """Write a line into the customer's file."""
    await asyncio.sleep(0.005)
    return f"noted: {text}"


async def reserve(item: str, count: int = 1) -> str:
    """Set items aside."""
    return f"reserved {count} of {item}"


async def refund(order_id: str, cents: int) -> str:
    """Pay money back."""
    await asyncio.sleep(0.005)
    return f"refunded {cents} for {order_id}"


def registry() -> ToolRegistry:
    tools = ToolRegistry()
    tools.register(look_up, annotations="read-only")
    tools.register(note)
    tools.register(reserve)
    tools.register(refund, annotations="destructive")
    return tools


def clerk(request: ModelRequest, context: ModelCallContext) -> str:
    """The last answer tells all that was said and done, so nothing can be lost or doubled unseen."""
    del context
    results = [message.text for message in request.messages if isinstance(message, ToolResultMessage)]
    heard = [message.text for message in request.messages if isinstance(message, UserMessage)]
    return "\n".join([*sorted(heard), *results])


def model() -> FakeModel:
    return (
        FakeModel()
        .turn("Looking.", tool_calls=[("look_up", {"order_id": "A1"}), ("look_up", {"order_id": "B2"})])
        .turn(
            tool_calls=[
                ("refund", {"order_id": "A1", "cents": 900}),
                ("look_up", {"order_id": "C3"}),
                ("note", {"text": "A1 goes back"}),
            ]
        )
        .turn(tool_calls=[("note", {"text": "refunded"})])
        .turn(tool_calls=[("refund", {"order_id": "B2", "cents": 500})])
        .turn(
            tool_calls=[
                ("look_up", {"order_id": "D4"}),
                ("reserve", {"item": "kettle"}),
                ("note", {"text": "a kettle"}),
            ]
        )
        .turn(tool_calls=[("look_up", {"order_id": "E5"})])
        .turn(tool_calls=[("reserve", {"item": "cup", "count": 6})])
        .turn(tool_calls=[("note", {"text": "all done"})])
        .turn("All is done.")
        .turn(clerk)
    )


def people(wait: Wait) -> Answer:
    """The second refund is cut down by whoever approves of it."""
    if wait.arguments and wait.arguments["order_id"] == "B2":
        return Answer(approved=True, arguments={"order_id": "B2", "cents": 400})
    return Answer(approved=True)


def at_turn(number: int) -> When:
    """As soon as that turn has begun."""
    return lambda state: bool(state.lanes) and state.lanes[""].turn >= number


def ten_turns() -> Scenario:
    return Scenario(
        spec=AgentSpec(
            name="clerk",
            instructions="Serve the customer.",
            model=ModelRef(model="fake-1"),
            tools=tuple(CodeTool(name=name) for name in TOOLS),
            limits=Limits(max_turns=20),
        ),
        tools=registry,
        model=model,
        input="Sort out my orders.",
        people=people,
        acts=(
            say(FOLLOW_UP, at_turn(2), QueueKind.FOLLOW_UP),
            say(STEER, at_turn(3)),
        ),
    )


scenario = ten_turns()

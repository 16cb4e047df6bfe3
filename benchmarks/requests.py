"""The body of a request late in a conversation, against writing all of it anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time

from benchmarks.figure import Figure, at_most
from benchmarks.setting import Setting
from psych_runtime.model.chat.dialects import DIALECTS
from psych_runtime.model.chat.request.encode import encode_request
from psych_runtime.model.chat.request.messages import Terms
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import (
    AssistantMessage,
    Message,
    ModelSource,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from psych_runtime_core.ports.model import ModelRequest

SOURCE = ModelSource(provider="openai", model="gpt-4o")
TERMS = Terms(DIALECTS["openai"], DIALECTS["openai"].capabilities, SOURCE)
TOOLS = tuple(
    ToolDefinition(
        name=f"look_up_{number}",
        description="Look up an order by its id, or by the name of the customer.",
        parameters={"type": "object", "properties": {"order_id": {"type": "string"}}},
    )
    for number in range(20)
)


def measure(setting: Setting) -> Iterator[Figure]:
    last = setting.size(400, least=3)
    pairs = [encoded(last) for _ in range(setting.rounds + 1)][1:]
    after, anew = zip(*pairs, strict=True)
    yield Figure(f"request {last} after {last - 1} / from nothing", "ms", after, anew, at_most(0.05))


def encoded(last: int) -> tuple[float, float]:
    """Milliseconds that request `last` takes after all before it, and in a process that has written none."""
    messages = conversation(last)
    for request in range(1, last):
        encode_request(asking(messages[: 2 * request]), TERMS)
    after = milliseconds(messages)
    anew = milliseconds([message.model_copy() for message in messages])
    return after, anew


def milliseconds(messages: Sequence[Message]) -> float:
    request = asking(messages)
    begun = process_time()
    encode_request(request, TERMS)
    return 1e3 * (process_time() - begun)


def asking(messages: Sequence[Message]) -> ModelRequest:
    return ModelRequest("gpt-4o", tuple(messages), tools=TOOLS, max_output_tokens=1_000)


def conversation(requests: int) -> list[Message]:
    """What the last of so many requests holds: each but the first adds a call and its result."""
    messages: list[Message] = [
        SystemMessage(content="You answer. " * 50),
        UserMessage(content="Find them all."),
    ]
    for turn in range(1, requests):
        call = ToolCall(
            id=ToolCallId(f"call_{turn:08}"),
            name="look_up_7",
            arguments=f'{{"order_id": "A{turn:05}", "why": "the customer asks where it is"}}',
            provider_id=f"call_{turn:024}",
        )
        said = TextPart(text="I look up the next one, to see where it is by now.")
        messages += [
            AssistantMessage(parts=(said, call), source=SOURCE),
            ToolResultMessage(call_id=call.id, name=call.name, content="It was shipped on Monday. " * 20),
        ]
    return messages

"""What reading a stream costs, counted: a chunk late in it what one costs early, and nothing is kept."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import AsyncGenerator, Callable
from types import FrameType
from typing import Any

import pytest

from psych_runtime.egress.sse import server_events
from psych_runtime.model.chat_errors import Asked
from psych_runtime.model.chat_payload import read_payload
from psych_runtime.model.chat_stream import ChatStream

ASKED = Asked(provider="openai", model="gpt-4o")
MIB = 1024 * 1024


def calls_in(work: Callable[[], object]) -> int:
    """How many functions are called, in Python and below it."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def text(number: int) -> dict[str, Any]:
    return {"content": "word "}


def thought(number: int) -> dict[str, Any]:
    return {"reasoning_content": "hm "}


def arguments(number: int) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": {"name": "look", "arguments": '{"a": [1,'}}]}


def signed_items(number: int) -> dict[str, Any]:
    return {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "hm "}]}


@pytest.mark.parametrize("delta", [text, thought, arguments, signed_items])
def test_a_late_chunk_costs_what_an_early_one_costs(delta: Callable[[int], dict[str, Any]]) -> None:
    chat, costs = ChatStream(ASKED), list[int]()
    for number in range(2_000):
        chunk = {"choices": [{"index": 0, "delta": delta(number)}]}
        costs.append(calls_in(lambda chunk=chunk: chat.feed(chunk)))  # type: ignore[misc]  # the default binds it
    assert max(costs[-100:]) <= 1.1 * max(costs[100:200])


async def test_a_stream_that_nobody_keeps_is_not_held() -> None:
    small, large = await peak(1), await peak(16)
    assert large <= 2 * small


async def peak(mebibytes: int) -> int:
    """The most bytes that are held at once while so much is read."""
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "%s"}}]}\n\n' % (b"x" * 16_000)

    async def body() -> AsyncGenerator[bytes]:
        for _ in range(mebibytes * MIB // len(event)):
            yield event

    chat = ChatStream(ASKED)
    tracemalloc.start()
    async for told in server_events(body(), origin="http://127.0.0.1", max_event_bytes=MIB):
        for chunk in read_payload(told.data, ASKED).chunks:
            chat.feed(chunk)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most

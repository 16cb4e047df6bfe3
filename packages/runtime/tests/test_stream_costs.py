"""What reading a stream costs, counted: a chunk late in it what one costs early, and nothing is kept."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import AsyncGenerator, Callable
from functools import partial
from types import FrameType

import pytest

from packages.runtime.tests.chat_chunks import ASKED, Chunk, call, calls, delta, text
from psych_runtime.egress.sse import server_events
from psych_runtime.model.chat.reply.payload import read_payload
from psych_runtime.model.chat.reply.stream import ChatStream

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


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(text("word "), id="text"),
        pytest.param(delta(reasoning_content="hm "), id="reasoning"),
        pytest.param(delta(reasoning_details=[{"index": 0, "type": "text", "text": "hm "}]), id="items"),
        pytest.param(calls(call(0, "c1", "look", '{"a": [1,')), id="arguments"),
    ],
)
def test_a_late_chunk_costs_what_an_early_one_costs(chunk: Chunk) -> None:
    chat = ChatStream(ASKED)
    costs = [calls_in(partial(chat.feed, chunk)) for _ in range(2_000)]
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

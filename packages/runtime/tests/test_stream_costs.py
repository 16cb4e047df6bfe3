"""What reading a stream costs, counted: a chunk late in it what one costs early, and nothing is kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncGenerator, Callable
from decimal import Decimal
from functools import partial

import pytest

from packages.runtime.tests.chat_chunks import ERRORS, Chunk, call, calls, delta, text
from packages.runtime.tests.effort import effort_of
from psych_runtime.egress.sse import server_events
from psych_runtime.model.chat.reply.payload import read_payload
from psych_runtime.model.chat.reply.stream import ChatStream

MIB = 1024 * 1024

LONG: dict[str, Callable[[int], Chunk]] = {
    "text": lambda _: text("word "),
    "reasoning": lambda _: delta(reasoning_content="word "),
    "details": lambda _: delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "w"}]),
    "details without an index": lambda _: delta(reasoning_details=[{"type": "reasoning.text", "text": "w"}]),
    "arguments": lambda n: calls(call(0, None, None if n else "f", "x]}" if n else '{"a":"')),
    "arguments, nested": lambda n: calls(call(0, "c1", "f", '{"a": [1,')),
    "arguments, named": lambda n: calls(call(0, None, "f", "{} " if n else '["')),
    "usage": lambda n: {**text("w"), "usage": {"prompt_tokens": 7, "completion_tokens": n}},
}


@pytest.mark.parametrize("kind", LONG)
def test_a_late_chunk_costs_what_an_early_one_costs(kind: str) -> None:
    chat = ChatStream(ERRORS)
    costs = [effort_of(partial(chat.feed, LONG[kind](n))) for n in range(2_000)]
    assert max(costs[-100:]) <= 1.1 * max(costs[100:200])


@pytest.mark.parametrize("kind", LONG)
def test_the_end_of_a_long_reply_costs_its_length_at_most(kind: str) -> None:
    def end(chunks: int) -> int:
        chat = ChatStream(ERRORS)
        for n in range(chunks):
            chat.feed(LONG[kind](n))
        return effort_of(partial(chat.end, done_seen=True))

    assert end(2_000) <= 10 * 1.1 * end(200)


async def test_a_stream_that_nobody_keeps_is_not_held() -> None:
    small, large = await peak(1), await peak(16)
    assert large <= 2 * small


async def peak(mebibytes: int) -> int:
    """The most bytes that are held at once while so much is read."""
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "%s"}}]}\n\n' % (b"x" * 16_000)

    async def body() -> AsyncGenerator[bytes]:
        for _ in range(mebibytes * MIB // len(event)):
            yield event

    chat = ChatStream(ERRORS)
    tracemalloc.start()
    async for told in server_events(body(), origin="http://127.0.0.1", max_event_bytes=MIB):
        for chunk in read_payload(told.data, ERRORS).chunks:
            chat.feed(chunk)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_of_arguments_text_and_usage_that_went_on_nothing_is_held() -> None:
    chat = ChatStream(ERRORS)
    chat.feed(calls(call(0, "a", "f", '{"a": "')))
    piece = "x" * 1_000
    tracemalloc.start()
    try:
        for _ in range(1_000):
            chat.feed(calls(call(0, None, None, piece)))
            chat.feed({**text(piece), "usage": {"prompt_tokens": Decimal(1)}})
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()

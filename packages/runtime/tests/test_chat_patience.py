"""How long the end of a reply is waited for, in virtual seconds, and how often its beginning is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from packages.runtime.tests.chat_chunks import ERRORS
from packages.runtime.tests.client_scenes import chunk, text_of
from psych_runtime.model.chat.reply import reading
from psych_runtime.model.chat.reply.pieces import DEFAULT_PATIENCE, Patience, Pieces
from psych_runtime.model.chat.reply.reading import Reading, reply_events
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.testing.virtual import run_virtual
from psych_runtime_core.errors import ModelError
from psych_runtime_core.ports.model import StreamDone, StreamEvent
from psych_runtime_core.usage import Usage

ENDS = chunk("Hello", "stop")
COMMENT = b": still here\n\n"
USAGE = chunk(usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9})
# What comes, and after how many seconds.
Timed = tuple[float, bytes]


def replied(body: AsyncGenerator[bytes]) -> Any:
    """As much of a reply as reading one needs."""
    return SimpleNamespace(
        status_code=200, headers={"content-type": "text/event-stream"}, aiter_raw=lambda: body
    )


async def timed(first: Sequence[Timed], again: Timed | None) -> AsyncGenerator[bytes]:
    """A body that is sent in time, and whose end is one piece again and again, or silence."""
    for seconds, piece in first:
        await asyncio.sleep(seconds)
        yield piece
    while True:
        seconds, piece = again or (1e6, b"")
        await asyncio.sleep(seconds)
        yield piece


def read(body: AsyncGenerator[bytes]) -> AsyncGenerator[StreamEvent, None]:
    reply, how = replied(body), Reading(ERRORS, "http://127.0.0.1", DEFAULT_PATIENCE)
    return reply_events(reply, ChatStream(ERRORS, reply.headers), how, datetime.now(UTC))


def ended(first: Sequence[Timed], again: Timed | None, pause: float = 0.0) -> tuple[float, list[StreamEvent]]:
    """After how many seconds a reply is at its end, for a consumer that takes `pause` over each event."""
    events: list[StreamEvent] = []

    async def main() -> float:
        begun = asyncio.get_running_loop().time()
        async with aclosing(read(timed(first, again))) as told:
            async for event in told:
                events.append(event)
                await asyncio.sleep(pause)
        return asyncio.get_running_loop().time() - begun

    return run_virtual(main), events


@pytest.mark.parametrize(
    ("first", "again", "seconds"),
    [
        pytest.param([(1, ENDS)], None, 11, id="silence"),
        pytest.param([(1, ENDS)], (4, COMMENT), 11, id="comments are silence"),
        pytest.param([(1, ENDS)], (4, b"data: : PROCESSING\n\n"), 11, id="comments in data too"),
        pytest.param([(1, ENDS)], (4, b"data: "), 11, id="an event that never ends"),
        pytest.param([(1, ENDS), (8, COMMENT), (1, USAGE)], (4, COMMENT), 20, id="10 s after the last data"),
        pytest.param([(1, ENDS)], (8, USAGE), 61, id="data without end"),
        pytest.param([(9, COMMENT), (9, COMMENT), (9, ENDS)], None, 37, id="comments before it are life"),
    ],
)
def test_what_is_held_open_after_a_finish_reason_ends(
    first: list[Timed], again: Timed | None, seconds: float
) -> None:
    took, events = ended(first, again)
    assert took == pytest.approx(seconds)
    assert text_of(events) == "Hello"
    assert isinstance(events[-1], StreamDone)


def test_the_time_of_a_slow_consumer_is_no_silence() -> None:
    took, events = ended([(1, ENDS), (3, USAGE)], None, pause=100)
    done = events[-1]
    assert isinstance(done, StreamDone)
    assert done.usage == Usage(input=7, output=2)
    assert took < 1_000


async def test_a_body_that_never_waits_ends_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("psych_runtime.model.chat.reply.pieces.anyio.current_time", lambda: now)

    async def flood() -> AsyncIterator[bytes]:
        nonlocal now
        while True:
            now += 1
            yield COMMENT

    pieces = Pieces(flood(), Patience())
    pieces.finish()
    assert len([piece async for piece in pieces]) == 10


# --- the beginning --------------------------------------------------------------------------------------

BLANKS = 60_000


async def in_ones(head: bytes, rest: bytes) -> AsyncGenerator[bytes]:
    for at in range(len(head)):
        yield head[at : at + 1]
    yield rest


async def read_of(body: AsyncGenerator[bytes]) -> list[StreamEvent]:
    async with aclosing(read(body)) as told:
        return [event async for event in told]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["blanks", "a mark of byte order, and blanks"])
async def test_each_blank_before_a_reply_is_looked_at_once(
    mark: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    first = cast("Callable[[bytearray], bytes]", reading._first)  # type: ignore[attr-defined,unused-ignore]  # it is counted

    def counted(head: bytearray) -> bytes:
        looked.append(len(head))
        return first(head)

    monkeypatch.setattr(reading, "_first", counted)
    assert text_of(await read_of(in_ones(mark + b"\n" * BLANKS, ENDS))) == "Hello"
    assert sum(looked) <= 3 * (BLANKS + len(ENDS))


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"\xef\xbb\xbf\n\n", id="a mark and blanks"),
        pytest.param(b" \r\n\n", id="blanks"),
        pytest.param(b"\xef\xbb\xbf", id="a mark"),
    ],
)
@pytest.mark.parametrize("cut", [1, 2, 3, 100])
async def test_what_stands_before_a_reply_is_passed_over(head: bytes, cut: int) -> None:
    async def body() -> AsyncGenerator[bytes]:
        whole = head + ENDS
        for at in range(0, len(whole), cut):
            yield whole[at : at + cut]

    assert text_of(await read_of(body())) == "Hello"


async def test_a_reply_of_blanks_alone_is_empty_however_long_it_is() -> None:
    for size in (10, 70_000):
        with pytest.raises(ModelError) as caught:
            await read_of(in_ones(b"\n" * size, b""))
        assert caught.value.code == "empty_response"

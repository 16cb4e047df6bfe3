"""How long a reply is waited for, and that who leaves is seen to leave."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import pytest

from packages.runtime.tests.client_scenes import (
    ANSWERS,
    DONE,
    GOOD,
    Pause,
    asked,
    chunk,
    context,
    failing,
    heard,
    serving,
    streamed,
    text_of,
)
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.model.chat.call import Call, call_events
from psych_runtime.model.chat.endpoint import endpoint_of
from psych_runtime.model.chat.reply.pieces import DEFAULT_PATIENCE, Patience, Pieces
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.testing.http_stub import HttpStub, Piece
from psych_runtime_core.errors import ModelErrorKind, RequestFailed
from psych_runtime_core.ports.model import StreamDone, StreamEvent
from psych_runtime_core.scope import Scope
from psych_runtime_core.usage import Usage

TEXT = chunk("Hel")
USAGE = chunk(usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9})


async def test_silence_before_the_reply_is_given_up() -> None:
    async with serving() as (stub, client):
        stub.hang()
        text, error = await failing(client, asked(idle=0.05))
    assert (text, error.kind, error.code) == ("", ModelErrorKind.TRANSIENT, "idle")
    assert "0.05" in error.message


async def test_silence_after_a_token_is_given_up() -> None:
    async with serving(streamed(TEXT, anyio.Event())) as (_, client):
        text, error = await failing(client, asked(idle=0.05))
    assert (text, error.kind, error.code) == ("Hel", ModelErrorKind.TRANSIENT, "idle")


async def test_comments_are_signs_of_life() -> None:
    breaths: list[Piece] = []
    for _ in range(6):
        breaths += [Pause(0.05), b": still here\n\n"]
    async with serving(streamed(*breaths, *GOOD)) as (_, client):
        assert text_of(await heard(client, asked(idle=0.2))) == "Hello"


@pytest.mark.parametrize(("idle", "limit"), [(0.0, None), (0.05, 0.05), (300.0, 300.0)])
async def test_an_idle_timeout_of_zero_is_none(idle: float, limit: float | None) -> None:
    asked_for: list[HttpTimeouts | None] = []

    class Noting(HttpTransport):
        def stream(self, *args: Any, timeouts: HttpTimeouts | None = None, **options: Any) -> Any:
            asked_for.append(timeouts)
            return super().stream(*args, timeouts=timeouts, **options)

    async with serving(transport=Noting()) as (_, client):
        assert text_of(await heard(client, asked(idle=idle))) == "Hello"
    (timeouts,) = asked_for
    assert timeouts is not None
    assert (timeouts.read, timeouts.total) == (limit, None)


async def test_silence_longer_than_what_is_usual_is_heard_out_where_there_is_no_limit() -> None:
    impatient = HttpTransport(timeouts=HttpTimeouts(read=0.02, total=0.1))
    async with serving(streamed(TEXT, Pause(0.3), *GOOD[1:]), transport=impatient) as (_, client):
        assert text_of(await heard(client, asked(idle=0.0))) == "Hello"


async def test_a_slow_consumer_is_nobodys_silence() -> None:
    async with serving() as (_, client), aclosing(client.stream(asked(idle=0.05), context())) as stream:
        events: list[StreamEvent] = []
        async for each in stream:
            events.append(each)
            await Pause(0.12).wait()
    assert text_of(events) == "Hello"
    assert isinstance(events[-1], StreamDone)


# --- the end -------------------------------------------------------------------------------------------


@asynccontextmanager
async def read(*pieces: Piece, patience: Patience) -> AsyncGenerator[tuple[list[StreamEvent], HttpStub]]:
    """What one call hears that is patient in its own way."""
    transport = HttpTransport()
    async with HttpStub() as stub:
        stub.on("POST", ANSWERS, streamed(*pieces))
        call = Call(
            endpoint=endpoint_of(f"{stub.url}/v1"),
            scope=Scope(tenant="acme"),
            errors=CallErrors(provider="other", model="m-1"),
            credential=None,
            headers={},
            query={},
            body=b"{}",
            idle_seconds=5.0,
            patience=patience,
        )
        with anyio.fail_after(5):
            async with aclosing(call_events(call, transport)) as events:
                yield [event async for event in events], stub
        await transport.aclose()


def test_the_end_of_a_stream_is_waited_for_as_long_as_is_worth_it() -> None:
    patience = DEFAULT_PATIENCE
    assert (patience.finished_seconds, patience.done_seconds, patience.done_bytes) == (10, 0.25, 65_536)


async def test_silence_after_a_finish_reason_is_the_end() -> None:
    patience = Patience(finished_seconds=0.05)
    async with read(TEXT, chunk("lo", "stop"), anyio.Event(), patience=patience) as (events, _):
        assert text_of(events) == "Hello"
        assert isinstance(events[-1], StreamDone)


async def test_what_comes_after_a_finish_reason_in_time_is_kept() -> None:
    late = chunk("lo", "stop"), Pause(0.05), USAGE, Pause(0.05), DONE
    async with read(TEXT, *late, patience=Patience(finished_seconds=0.5)) as (events, _):
        (done,) = [each for each in events if isinstance(each, StreamDone)]
        assert (text_of(events), done.usage) == ("Hello", Usage(input=7, output=2))


async def test_usage_after_the_mark_of_the_end_is_read_and_text_is_not() -> None:
    async with read(*GOOD, chunk("more"), USAGE, patience=Patience()) as (events, _):
        (done,) = [each for each in events if isinstance(each, StreamDone)]
        assert (text_of(events), done.usage) == ("Hello", Usage(input=7, output=2))


async def test_a_connection_held_open_after_the_mark_of_the_end_is_left() -> None:
    patience = Patience(done_seconds=0.05)
    async with read(*GOOD, anyio.Event(), patience=patience) as (events, stub):
        assert text_of(events) == "Hello"
        with anyio.fail_after(1):
            await stub.requests[0].closed_early()


async def test_a_flood_after_the_mark_of_the_end_is_left() -> None:
    flood = [b": " + b"x" * 1022] * 100
    patience = Patience(done_seconds=5.0)
    async with read(*GOOD, *flood, anyio.Event(), patience=patience) as (events, _):
        assert text_of(events) == "Hello"


async def broken_off() -> AsyncIterator[bytes]:
    yield b"a"
    raise RequestFailed("https://example.com:443", "read", "reset", sent=True)


@pytest.mark.parametrize(
    "end",
    [pytest.param(Pieces.finish, id="a finish reason"), pytest.param(Pieces.done, id="the mark of the end")],
)
async def test_a_break_is_an_error_until_the_end_is_in_sight(end: Callable[[Pieces], None]) -> None:
    pieces = Pieces(broken_off(), Patience())
    assert await anext(pieces) == b"a"
    with pytest.raises(RequestFailed):
        await anext(pieces)
    pieces = Pieces(broken_off(), Patience())
    end(pieces)
    assert [piece async for piece in pieces] == [b"a"]


# --- leaving -------------------------------------------------------------------------------------------


async def left(stub: HttpStub) -> None:
    """The client of the first request is gone within a second."""
    with anyio.fail_after(1):
        await stub.requests[0].closed_early()


async def test_a_call_that_is_cancelled_before_its_first_byte_closes_its_socket() -> None:
    async with serving() as (stub, client):
        stub.hang()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heard, client)
            await stub.wait_for(1)
            tasks.cancel_scope.cancel()
        await left(stub)


async def test_a_call_that_is_cancelled_in_its_text_closes_its_socket() -> None:
    begun = anyio.Event()

    async def listen(client: OpenAICompatibleClient) -> None:
        async with aclosing(client.stream(asked(), context())) as stream:
            async for _ in stream:
                begun.set()

    async with serving(streamed(TEXT, anyio.Event())) as (stub, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen, client)
            await begun.wait()
            tasks.cancel_scope.cancel()
        await left(stub)


async def test_a_stream_that_is_closed_in_its_text_closes_its_socket() -> None:
    async with serving(streamed(TEXT, anyio.Event())) as (stub, client):
        stream = client.stream(asked(), context())
        assert text_of([await anext(stream)]) == "Hel"
        await stream.aclose()
        await left(stub)

"""What a client does with its socket: when it closes it, when it keeps it, how often it asks."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from random import Random

import anyio
import pytest

from psych_runtime.testing.http_stub import Reply, SeenRequest
from psych_runtime_contract.model.garble import garbled
from psych_runtime_contract.model.judging import broken_laws
from psych_runtime_contract.model.lapse import Silence
from psych_runtime_contract.model.law_rules import kept_the_laws
from psych_runtime_contract.model.leaving import holds_on
from psych_runtime_contract.model.playing import CONTEXT, play, request
from psych_runtime_contract.model.suite import NEEDS_A_WIRE, ModelSuite
from psych_runtime_core.errors import ModelError
from psych_runtime_core.ports.model import ModelClient, TextDelta

GARBLED = 150
LARGEST_GARBLED = 4_096


class SocketRules(ModelSuite):
    """What can be seen from the other end of the wire."""

    @NEEDS_A_WIRE
    @pytest.mark.parametrize(
        "events", [pytest.param(0, id="before the first byte"), pytest.param(1, id="in the text")]
    )
    async def test_a_cancelled_call_closes_its_socket_within_a_second(self, events: int) -> None:
        """Laws 4 and 5: a reply that nobody waits for is not paid for, and the cancellation goes on."""
        async with self.serving(self.spoken().held(events)) as (stub, client):
            reading = asyncio.ensure_future(_read_on(client))
            (seen,) = await stub.wait_for(1)
            await anyio.wait_all_tasks_blocked()
            assert seen.closed_early_at is None
            reading.cancel()
            (ended,) = await asyncio.gather(reading, return_exceptions=True)
            assert reading.cancelled(), f"cancelled, it ended with {ended!r}"
            await left(seen)

    @NEEDS_A_WIRE
    async def test_a_closed_stream_closes_its_socket_within_a_second(self) -> None:
        """Law 5: closing the iterator is as good as a cancellation."""
        async with self.serving(self.spoken().held(1)) as (stub, client):
            async with aclosing(client.stream(request(), CONTEXT)) as stream:
                await anext(aiter(stream))
                (seen,) = stub.requests
                assert seen.closed_early_at is None
            await left(seen)

    @NEEDS_A_WIRE
    async def test_a_failed_call_is_tried_once_and_says_when_again(self) -> None:
        """Law 6: whoever retries is the engine, and it is not early."""
        async with self.serving(self.spoken().failure) as (stub, client):
            played = await play(client, request())
            assert isinstance(played.error, ModelError), f"tried once, it ended with {played.error!r}"
            assert played.error.retry_after_seconds == 7, f"retry_after: {played.error.retry_after_seconds}"
            assert len(stub.requests) == 1

    @NEEDS_A_WIRE
    async def test_two_calls_after_another_share_a_socket(self) -> None:
        """A clean end leaves a connection that is used again."""
        async with self.serving(self.spoken().answer("Hello there")) as (stub, client):
            for _ in range(2):
                kept_the_laws(await play(client, request()))
            assert stub.connections == 1

    @NEEDS_A_WIRE
    async def test_a_slow_consumer_is_not_taken_for_a_silent_provider(self) -> None:
        """The idle clock runs while a read is outstanding, and only then."""
        async with self.serving(self.spoken().answer("Hello there")) as (_, client):
            asked, heard = request(), ""
            async with aclosing(client.stream(asked, CONTEXT)) as stream:
                async for event in stream:
                    heard += event.text if isinstance(event, TextDelta) else ""
                    await Silence(asked.idle_timeout_seconds * 2).wait()
            assert heard == "Hello there"

    @NEEDS_A_WIRE
    async def test_a_garbled_reply_breaks_no_law(self) -> None:
        """Law 4: keys lost, types swapped, bytes flipped; what leaves is an answer or a typed error."""
        wire, random = self.spoken(), Random("garbled")
        made = [case.made() for case in wire.cases if case.cuts != "few"]
        good = [reply for reply in made if isinstance(reply, Reply) and 0 < len(reply.body) < LARGEST_GARBLED]
        async with self.serving() as (stub, client):
            for number in range(GARBLED):
                reply = random.choice(good)
                body = garbled(reply.body, random)
                stub.on("POST", wire.path, Reply(status=reply.status, headers=reply.headers, body=body))
                played = await play(client, request())
                broken = list(broken_laws(played))
                assert not broken, f"garbled reply {number}, {body!r}:\n" + "\n".join(broken)


async def _read_on(client: ModelClient) -> None:
    async with aclosing(client.stream(request(), CONTEXT)) as stream:
        async for _ in stream:
            continue


async def left(seen: SeenRequest) -> None:
    """Raise `AssertionError` unless the client leaves within a second."""
    assert not await holds_on(seen), "the client still holds its socket after a second"

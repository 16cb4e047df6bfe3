"""The laws of every client, whatever its wire."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import aclosing, contextmanager

import anyio
from anyio.from_thread import start_blocking_portal

from psych_runtime.testing.http_stub import HttpStub, Reply, SeenRequest
from psych_runtime_contract.model.judging import broken_laws
from psych_runtime_contract.model.playing import CONTEXT, MODEL, Played, play, request
from psych_runtime_contract.model.suite import NEEDS_A_WIRE, ModelSuite, close
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.messages import UserMessage
from psych_runtime_core.ports.model import ModelCapabilities, ModelClient, ModelRequest

AT_ONCE = 12


class LawRules(ModelSuite):
    """What holds for all of them, a fake too."""

    async def test_an_answer_ends_once_and_its_deltas_keep_the_laws(self) -> None:
        """Laws 1 to 4, on a good answer."""
        async with self.serving(*self._good("Hello there")) as (_, client):
            kept_the_laws(await play(client, request()))

    @NEEDS_A_WIRE
    async def test_calls_of_tools_are_numbered_and_named(self) -> None:
        """Law 2, on an answer with two calls."""
        wire = self.spoken()
        reply = Reply(body=b"".join(wire.calls(("first", "second"))), headers=wire.headers)
        played = await self.played(reply)
        kept_the_laws(played)
        assert played.message is not None
        names = [call.name for call in played.message.tool_calls]
        assert names == ["first", "second"], f"calls: expected first and second, got {names}"

    async def test_its_provider_has_a_short_name_that_stays(self) -> None:
        """What private matter is bound to."""
        async with self.serving() as (_, client), self.serving() as (_, another):
            assert 1 <= len(client.provider) <= 64
            assert client.provider == another.provider

    async def test_capabilities_are_told_of_any_model_without_asking(self) -> None:
        """Pure: no request, and equal for equal names."""
        async with self.serving() as (stub, client):
            told = [client.capabilities(model) for model in (MODEL, "nobody/knows-this", MODEL)]
            assert all(isinstance(each, ModelCapabilities) for each in told)
            assert told[0] == told[2]
            assert stub.connections == 0

    async def test_known_models_are_names_or_nothing(self) -> None:
        """A provider that cannot say is no error."""
        async with HttpStub() as stub:
            client = self.given(stub.url)
            stub.on("GET", "/models", Reply(status=404))
            try:
                with _denied_perhaps():
                    assert all(isinstance(name, str) for name in await client.known_models(CONTEXT))
            finally:
                await close(client)

    async def test_whoever_leaves_early_leaves_no_task_behind(self) -> None:
        """Law 5: on the wire the reply never ends, so that nobody who reads on comes to an end by himself."""
        # The stub has an event loop of its own: whoever is new in this one is the client's.
        with stub_elsewhere() as stub:
            client = self.client_at(stub, *([self.spoken().held(1)] if self.wire else []))
            try:
                left = await left_behind(client)
            finally:
                await close(client)
        assert not left, f"left behind: {left}"

    async def test_calls_at_once_stay_apart(self) -> None:
        """Law 7: each reader gets the answer to what it asked."""

        async def echo(seen: SeenRequest) -> Reply:
            await stub.wait_for(AT_ONCE)
            wire = self.spoken()
            return wire.answer(f"You said {wire.asked(seen)}.")

        async with self.serving(*([echo] if self.wire else [])) as (stub, client):
            answers: dict[int, Played] = {}

            async def ask(number: int) -> None:
                answers[number] = await play(client, saying(f"number {number}"))

            async with anyio.create_task_group() as group:
                for number in range(AT_ONCE):
                    group.start_soon(ask, number)
            for number, played in answers.items():
                kept_the_laws(played)
                if self.wire:
                    assert played.message is not None
                    assert played.message.text == f"You said number {number}."

    def test_one_client_serves_one_event_loop_after_another(self) -> None:
        """Law 7: nothing of a loop that is over is in the way of the next."""
        with stub_elsewhere() as stub:
            client = self.client_at(stub, *self._good("Hello there"))
            for _ in range(2):
                kept_the_laws(asyncio.run(play(client, request())))
            asyncio.run(close(client))

    def _good(self, text: str) -> list[Reply]:
        return [self.spoken().answer(text)] if self.wire else []


def saying(text: str) -> ModelRequest:
    """A request whose newest message has this text."""
    return ModelRequest(model=MODEL, messages=(UserMessage(content=text),))


def kept_the_laws(played: Played) -> None:
    """Raise `AssertionError` unless there is an answer and no law is broken."""
    broken = list(broken_laws(played))
    assert not broken, "\n".join(broken)
    assert played.message is not None, f"there is no answer: {played.error!r}"


async def left_behind(client: ModelClient) -> list[str]:
    """The tasks that somebody who leaves in mid-answer leaves, though all have had their turn."""
    before = asyncio.all_tasks()
    async with aclosing(client.stream(request(), CONTEXT)) as stream:
        await anext(aiter(stream))
    await anyio.wait_all_tasks_blocked()
    return [repr(task) for task in asyncio.all_tasks() - before]


@contextmanager
def _denied_perhaps() -> Generator[None]:
    try:
        yield
    except AccessDenied:
        return


@contextmanager
def stub_elsewhere() -> Generator[HttpStub]:
    """A stub on an event loop of its own, which outlives those of the test."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(HttpStub()) as stub:
        yield stub

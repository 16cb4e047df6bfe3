"""A client and the server it talks to, for tests: what is served, and what is heard of it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
from pydantic import SecretStr

from psych_runtime.egress.transport import HttpTransport
from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.testing.http_stub import Answer, HttpStub, Reply
from psych_runtime_core.errors import ModelError
from psych_runtime_core.ids import RunId
from psych_runtime_core.messages import UserMessage
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest, StreamEvent, TextDelta
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.scope import Scope

ANSWERS = "/v1/chat/completions"
DONE = b"data: [DONE]\n\n"
EVENT_STREAM = {"content-type": "text/event-stream"}


def chunk(text: str | None = None, finish: str | None = None, **fields: Any) -> bytes:
    """A chunk of an answer, as an event."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    return event({"id": "r1", "choices": [choice], **fields})


def event(payload: object) -> bytes:
    return f"data: {json.dumps(payload)}\n\n".encode()


GOOD = (chunk("Hel"), chunk("lo"), chunk(finish="stop"), DONE)


def streamed(*pieces: Any, **fields: Any) -> Reply:
    """A stream of server-sent events; each piece leaves in a packet of its own."""
    return Reply(headers=EVENT_STREAM, chunks=pieces or GOOD, **fields)


class Vault:
    """Secrets of tenants, which may change."""

    def __init__(self, **keys: str) -> None:
        self.keys = keys
        self.asked: list[tuple[str, str]] = []

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        self.asked.append((scope.tenant, name))
        key = self.keys.get(scope.tenant)
        return None if key is None else ResolvedCredential(f"{scope.tenant}/{key}", SecretStr(key))


class Pause:
    """A gate that opens by itself."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def wait(self) -> None:
        await anyio.sleep(self._seconds)


def asked(text: str = "hi", *, idle: float = 5.0, **fields: Any) -> ModelRequest:
    return ModelRequest("m-1", (UserMessage(content=text),), idle_timeout_seconds=idle, **fields)


def context(tenant: str = "acme", **fields: Any) -> ModelCallContext:
    return ModelCallContext(Scope(tenant=tenant), RunId("run_1"), "", "helper", 1, **fields)


@asynccontextmanager
async def serving(
    *replies: Answer, transport: HttpTransport | None = None, **options: Any
) -> AsyncGenerator[tuple[HttpStub, OpenAICompatibleClient]]:
    """A server that answers with `replies`, and a client of it; nothing of either is left behind."""
    transport = HttpTransport() if transport is None else transport
    async with HttpStub() as stub:
        stub.on("POST", ANSWERS, *(replies or (streamed(),)))
        try:
            yield stub, OpenAICompatibleClient(base_url=f"{stub.url}/v1", transport=transport, **options)
        finally:
            await transport.aclose()


async def heard(
    client: OpenAICompatibleClient, what: ModelRequest | None = None, where: ModelCallContext | None = None
) -> list[StreamEvent]:
    """Everything that one call streams."""
    async with aclosing(client.stream(what or asked(), where or context())) as stream:
        return [event async for event in stream]


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def failing(client: OpenAICompatibleClient, what: ModelRequest | None = None) -> tuple[str, ModelError]:
    """The text that came before a call failed, and its error."""
    came: list[StreamEvent] = []
    try:
        async with aclosing(client.stream(what or asked(), context())) as stream:
            async for event in stream:
                came.append(event)
    except ModelError as error:
        return text_of(came), error
    raise AssertionError(f"the call did not fail; it streamed {came}")

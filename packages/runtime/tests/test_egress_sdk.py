"""An SDK on a client of the transport: what it gets of replies, and what it cannot do."""

from __future__ import annotations

import gzip
import json
from typing import Any

import openai
import pytest

from packages.runtime.tests.egress_scenes import ANN, Audit, bound
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime_core.errors import AccessDenied, ResponseTooLarge
from psych_runtime_core.jsonvalue import Json

ANSWER: dict[str, Json] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
}
PATH = "/v1/chat/completions"


def sdk(stub: HttpStub, transport: HttpTransport, *, configured: bool = True) -> openai.AsyncOpenAI:
    client = transport.client(
        ANN,
        purpose="model",
        configured=(stub.url,) if configured else (),
        credential=bound(stub.url, "ours"),
    )
    # As the client it makes for itself.
    client.follow_redirects = True
    return openai.AsyncOpenAI(
        base_url=f"{stub.url}/v1",
        api_key="theirs",
        http_client=client,
        max_retries=0,
    )


async def ask(client: openai.AsyncOpenAI, **options: Any) -> Any:
    create: Any = client.chat.completions.create
    return await create(model="m", messages=[{"role": "user", "content": "hi"}], **options)


@pytest.mark.parametrize("packed", [False, True])
async def test_an_sdk_reads_replies_unpacked_once(packed: bool, stub: HttpStub) -> None:
    body = json.dumps(ANSWER).encode()
    headers = {"content-type": "application/json"}
    if packed:
        body, headers = gzip.compress(body), {**headers, "content-encoding": "gzip"}
    stub.on("POST", PATH, Reply(body=body, headers=headers))
    audit = Audit()
    async with sdk(stub, HttpTransport(audit=audit)) as client:
        answer = await ask(client)
    assert answer.choices[0].message.content == "hello"
    assert stub.requests[0].headers["authorization"] == "Bearer ours"
    assert audit.outcomes == [(PATH, 0, "allowed")]


async def test_an_sdk_streams(stub: HttpStub) -> None:
    chunks = [
        b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":'
        b'[{"index":0,"delta":{"content":"%b"}}]}\n\n' % word
        for word in (b"hel", b"lo")
    ]
    stub.on(
        "POST",
        PATH,
        Reply(chunks=(*chunks, b"data: [DONE]\n\n"), headers={"content-type": "text/event-stream"}),
    )
    async with sdk(stub, HttpTransport()) as client:
        words = [chunk.choices[0].delta.content async for chunk in await ask(client, stream=True)]
    assert words == ["hel", "lo"]


async def test_an_sdk_is_held_to_the_cap(stub: HttpStub) -> None:
    stub.on("POST", PATH, Reply(body=gzip.compress(bytes(10_000_000)), headers={"content-encoding": "gzip"}))
    async with sdk(stub, HttpTransport(max_response_bytes=1_000_000)) as client:
        with pytest.raises(ResponseTooLarge):
            await ask(client)


@pytest.mark.parametrize("led", [False, True])
async def test_an_sdk_reaches_nothing_that_was_not_named(led: bool, stub: HttpStub) -> None:
    stub.on("POST", PATH, Reply(status=303, headers={"location": "/inside"}))
    stub.on("GET", "/inside", Reply(json=ANSWER))
    async with sdk(stub, HttpTransport(), configured=led) as client:
        with pytest.raises(AccessDenied):
            await ask(client)
    assert len(stub.requests) == led

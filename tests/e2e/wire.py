"""What an OpenAI-compatible provider says on the wire, as the end-to-end tests script it."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from psych_runtime import OpenAICompatibleClient
from psych_runtime.testing.http_stub import HttpStub, Raw, Reply, SeenRequest

PATH = "/v1/chat/completions"
Call = tuple[str, Mapping[str, Any]]


def event(**choice: Any) -> bytes:
    """One chunk of a stream."""
    return b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n"


def said(
    text: str = "", calls: Sequence[Call] = (), usage: Mapping[str, Any] | None = None, *, thought: str = ""
) -> Reply:
    """An answer, whole: its thought, its text in two pieces, then its calls."""
    chunks = [event(delta={"reasoning_content": thought})] if thought else []
    chunks += [event(delta={"content": piece}) for piece in (text[:3], text[3:]) if piece]
    for index, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        chunks.append(
            event(delta={"tool_calls": [{"index": index, "id": f"p{index}", "function": function}]})
        )
    chunks.append(event(delta={}, finish_reason="tool_calls" if calls else "stop"))
    if usage is not None:
        chunks.append(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
    return Reply(headers={"content-type": "text/event-stream"}, chunks=(*chunks, b"data: [DONE]\n\n"))


def failed(status: int, **error: Any) -> Reply:
    """A refusal in the provider's words."""
    return Reply(status=status, json={"error": error})


def silent(*chunks: bytes) -> Raw:
    """A stream that begins with these chunks, and then says nothing more."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    return Raw((head, *chunks) if chunks else (), close="hold")


def answer_asked(request: SeenRequest) -> int:
    """The number of the answer that a request asks for: 1 in a conversation without any."""
    messages: list[dict[str, Any]] = request.json["messages"]
    return 1 + [message["role"] for message in messages].count("assistant")


def bodies(requests: Sequence[SeenRequest]) -> list[bytes]:
    """What was asked, request by request."""
    return [request.body for request in requests if request.path == PATH]


def extend(asked: Sequence[bytes]) -> bool:
    """Whether each request begins with the one before it, byte for byte, but for the two that close it."""
    return all(later.startswith(body[:-2]) for body, later in pairwise(asked))


@asynccontextmanager
async def provider(*replies: Any, **options: Any) -> AsyncGenerator[tuple[HttpStub, OpenAICompatibleClient]]:
    """A provider that gives these replies in turn, and a client of it."""
    async with HttpStub() as stub:
        stub.on("POST", PATH, *replies)
        client = OpenAICompatibleClient(base_url=f"{stub.url}/v1", api_key="sk-secret-key", **options)
        try:
            yield stub, client
        finally:
            await client.transport.aclose()

"""What a reply becomes, whatever it is: an answer, or an error that the caller knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from packages.runtime.tests.client_scenes import (
    ANSWERS,
    DONE,
    EVENT_STREAM,
    GOOD,
    asked,
    chunk,
    event,
    failing,
    heard,
    serving,
    streamed,
    text_of,
)
from psych_runtime.testing.http_stub import Raw, Reply
from psych_runtime_core.errors import ModelErrorKind, ResponseTooLarge
from psych_runtime_core.messages import FinishReason, UserMessage
from psych_runtime_core.ports.model import ModelRequest, StreamDone, TextDelta
from psych_runtime_core.usage import Usage

USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
WHOLE: dict[str, Any] = {
    "id": "r1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
    "usage": USAGE,
}
BOM = b"\xef\xbb\xbf"


async def test_a_stream_is_told_event_by_event_and_its_connection_used_again() -> None:
    usage = event({"choices": [], "usage": USAGE})
    async with serving(streamed(*GOOD[:-1], usage, DONE)) as (stub, client):
        for _ in range(2):
            events = await heard(client)
            assert events[:2] == [TextDelta("Hel"), TextDelta("lo")]
            assert events[2:] == [
                StreamDone(FinishReason.STOP, "stop", Usage(input=7, output=2), response_id="r1")
            ]
        assert stub.connections == 1
        assert stub.requests[0].headers["accept"] == "text/event-stream"
        assert stub.requests[0].headers["content-type"] == "application/json"
        assert stub.requests[0].json["messages"] == [{"role": "user", "content": "hi"}]


def in_ones(*pieces: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in b"".join(pieces)]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(streamed(*in_ones(*GOOD)), id="byte by byte"),
        pytest.param(streamed(BOM[:1], BOM[1:2], BOM[2:], *GOOD), id="a mark of byte order in three packets"),
        pytest.param(streamed(b"\n \n", b": hello\n\n", *GOOD), id="blanks and comments first"),
        pytest.param(streamed(b"retry: 5\n\n", b"event: x\nid: 7\n", *GOOD), id="other fields"),
        pytest.param(streamed(b"".join(GOOD).replace(b"\n", b"\r")), id="lone CR"),
        pytest.param(streamed(b"".join(GOOD).replace(b"\n", b"\r\n")), id="CRLF"),
        pytest.param(streamed(*GOOD[:-1], b"data: [done]"), id="no end of the last line"),
        pytest.param(streamed(*GOOD[:-1]), id="no mark of the end"),
        pytest.param(streamed(*GOOD[:2], GOOD[2].rstrip()), id="no end of the line that finishes"),
        pytest.param(streamed(*GOOD[:2], GOOD[2][:-1]), id="no empty line after it"),
        pytest.param(Reply(chunks=GOOD), id="no content type"),
        pytest.param(Reply(headers={"content-type": "text/plain"}, chunks=GOOD), id="plain text"),
        pytest.param(Reply(headers={"content-type": "application/json"}, chunks=GOOD), id="called JSON"),
        pytest.param(Reply(json=WHOLE), id="one JSON document"),
        pytest.param(Reply(headers=EVENT_STREAM, body=json.dumps(WHOLE).encode()), id="JSON called a stream"),
        pytest.param(
            Reply(chunks=[BOM[:1], BOM[1:], json.dumps(WHOLE).encode()]), id="JSON behind a cut mark"
        ),
        pytest.param(Reply(chunks=[BOM, b"\n", json.dumps(WHOLE, indent=1).encode()]), id="JSON over lines"),
    ],
)
async def test_a_reply_is_read_in_whatever_form_it_comes(reply: Reply) -> None:
    async with serving(reply) as (_, client):
        events = await heard(client)
    assert text_of(events) == "Hello"
    (done,) = [event for event in events if isinstance(event, StreamDone)]
    assert (events[-1], done.finish_reason) == (done, FinishReason.STOP)


async def test_text_is_utf8_whatever_the_header_says() -> None:
    raw = (
        'data: {"choices":[{"delta":{"content":"ü\u2028\x85✓'.encode()
        + b'\xff"},"finish_reason":"stop"}]}\n\n'
    )
    reply = Reply(headers={"content-type": "text/event-stream; charset=iso-8859-1"}, chunks=in_ones(raw))
    async with serving(reply) as (_, client):
        assert text_of(await heard(client)) == "ü\u2028\x85✓\ufffd"


TEXT = chunk("Hel")
LATE_ERROR = event({"error": {"message": "Overloaded", "code": 529}})
FAILURES: dict[str, tuple[Any, str, ModelErrorKind, str | None, str]] = {
    "a stream that ends too early": (streamed(TEXT), "Hel", ModelErrorKind.TRANSIENT, "truncated", ""),
    "its last event cut": (streamed(TEXT, TEXT[:-9]), "Hel", ModelErrorKind.TRANSIENT, "truncated", ""),
    "an event that is no JSON": (
        streamed(TEXT, b"data: {oops}\n\n", *GOOD),
        "Hel",
        ModelErrorKind.TRANSIENT,
        "malformed_event",
        "{oops}",
    ),
    "endless nesting": (
        streamed(b"data: " + b"[" * 100_000 + b"\n\n", *GOOD),
        "",
        ModelErrorKind.TRANSIENT,
        "malformed_event",
        "nested",
    ),
    "an error in the stream": (
        streamed(TEXT, LATE_ERROR, DONE),
        "Hel",
        ModelErrorKind.TRANSIENT,
        None,
        "Overloaded",
    ),
    "an error event": (
        streamed(TEXT, b'event: error\ndata: {"message": "No", "code": 400}\n\n'),
        "Hel",
        ModelErrorKind.PERMANENT,
        None,
        "No",
    ),
    "an error event of plain text": (
        streamed(b"event: error\ndata: it broke\n\n", DONE),
        "",
        ModelErrorKind.TRANSIENT,
        None,
        "it broke",
    ),
    "an error as JSON": (
        Reply(json={"error": {"message": "Too long: maximum context length is 8"}}),
        "",
        ModelErrorKind.CONTEXT_OVERFLOW,
        None,
        "Too long",
    ),
    "JSON that is cut": (Reply(body=b'{"choices": ['), "", ModelErrorKind.TRANSIENT, "malformed_event", ""),
    "JSON that is no answer": (Reply(json={"hello": 1}), "", ModelErrorKind.PERMANENT, "not_a_model", ""),
    "a page": (Reply(body=b"<html>Sign in</html>"), "", ModelErrorKind.PERMANENT, "not_a_model", "Sign in"),
    "a page without markup": (
        Reply(headers={"content-type": "text/html"}, body=b"Sign in"),
        "",
        ModelErrorKind.PERMANENT,
        "not_a_model",
        "text/html",
    ),
    "nothing at all": (Reply(), "", ModelErrorKind.TRANSIENT, "empty_response", "empty"),
    "blanks alone": (Reply(chunks=[b" \n"] * 9), "", ModelErrorKind.TRANSIENT, "empty_response", "empty"),
    "no content": (Reply(status=204), "", ModelErrorKind.PERMANENT, "not_a_model", "204"),
    "a redirect": (
        Reply(status=302, headers={"location": "https://elsewhere.example/x"}),
        "",
        ModelErrorKind.PERMANENT,
        "not_a_model",
        "302",
    ),
    "a limit of requests": (
        Reply(status=429, json={"error": {"message": "Slow down"}}, headers={"retry-after": "7"}),
        "",
        ModelErrorKind.TRANSIENT,
        None,
        "Slow down",
    ),
    "a page of 100 KB under an error": (
        Reply(status=503, body=b"<h1>Sorry</h1>" + b"x" * 100_000),
        "",
        ModelErrorKind.TRANSIENT,
        None,
        "Sorry",
    ),
    "a bad gateway without words": (Reply(status=502), "", ModelErrorKind.TRANSIENT, None, "502"),
}


@pytest.mark.parametrize("what", FAILURES)
async def test_what_is_no_answer_is_an_error_with_its_words(what: str) -> None:
    reply, text, kind, code, words = FAILURES[what]
    async with serving(reply) as (_, client):
        came, error = await failing(client)
    assert (came, error.kind, error.provider, error.model) == (text, kind, "127.0.0.1", "m-1")
    if code is not None:
        assert error.code == code
    assert words in error.message


async def test_the_providers_hint_and_the_id_of_its_reply_are_kept() -> None:
    headers = {"retry-after": "7", "x-request-id": "req-9"}
    async with serving(Reply(status=429, headers=headers)) as (_, client):
        _, error = await failing(client)
    assert (error.status, error.retry_after_seconds, error.request_id) == (429, 7, "req-9")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(
            Reply(status=401, json={"error": {"message": "Incorrect API key: sk-echo-123"}}), id="status"
        ),
        pytest.param(
            streamed(event({"error": {"message": "Bad key sk-echo-123", "code": 401}})), id="in a stream"
        ),
        pytest.param(streamed(b"data: sk-echo-123\n\n", DONE), id="in an event that is no JSON"),
        pytest.param(Reply(body=b"<p>sk-echo-123</p>"), id="in a page"),
    ],
)
async def test_a_key_that_is_echoed_is_hidden(reply: Reply) -> None:
    async with serving(reply, api_key="sk-echo-123") as (stub, client):
        _, error = await failing(client)
        assert stub.requests[0].headers["authorization"] == "Bearer sk-echo-123"
    assert "***" in error.message
    assert "sk-echo" not in f"{error}{error!r}{vars(error)}"


async def test_an_event_beyond_its_limit_is_too_large_as_soon_as_it_is() -> None:
    flood = [b"data: " + b"x" * (9 * 1024 * 1024)]
    async with serving(streamed(TEXT, *flood)) as (_, client):
        with pytest.raises(ResponseTooLarge) as refused:
            await heard(client)
    assert refused.value.limit_bytes == 8 * 1024 * 1024


async def test_a_document_beyond_the_limit_of_an_event_is_too_large() -> None:
    async with serving(Reply(body=b'{"x":"' + b"x" * (9 * 1024 * 1024) + b'"}')) as (_, client):
        with pytest.raises(ResponseTooLarge):
            await heard(client)


# --- connections that break ----------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def in_frame(piece: bytes) -> bytes:
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


@pytest.mark.parametrize("close", ["clean", "reset"])
async def test_a_connection_that_breaks_in_the_text_cuts_the_answer(close: Any) -> None:
    async with serving(Raw([HEAD + in_frame(TEXT)], close)) as (_, client):
        _, error = await failing(client)
    assert (error.kind, error.code) == (ModelErrorKind.TRANSIENT, "truncated")
    assert (error.__cause__, error.__context__) == (None, None)


@pytest.mark.parametrize("close", ["clean", "reset"])
async def test_a_connection_that_breaks_after_a_finish_reason_leaves_the_answer(close: Any) -> None:
    pieces = [HEAD + in_frame(TEXT), in_frame(chunk("lo", "stop")), in_frame(b'data: {"usage":')[:-4]]
    async with serving(Raw(pieces, close)) as (_, client):
        events = await heard(client)
    assert text_of(events) == "Hello"
    assert isinstance(events[-1], StreamDone)


async def test_a_connection_that_breaks_before_its_reply_can_be_tried_again() -> None:
    async with serving() as (stub, client):
        stub.reset()
        _, error = await failing(client)
    assert (error.kind, error.code) == (ModelErrorKind.TRANSIENT, None)


async def test_a_server_that_is_not_there_can_be_tried_again() -> None:
    async with serving() as (_, client):
        pass
    _, error = await failing(client)
    assert error.kind is ModelErrorKind.TRANSIENT
    assert "nothing was sent" in error.message
    await client.transport.aclose()


async def test_what_cannot_be_sent_is_not_sent() -> None:
    too_long = ModelRequest("m-1", (UserMessage(content="x" * 64 * 1024 * 1024),))
    schema = asked(output_schema={"type": "object"})
    async with serving() as (stub, client):
        for what, code in ((too_long, "request_too_large"), (schema, "unsupported_output")):
            _, error = await failing(client, what)
            assert (error.kind, error.code) == (ModelErrorKind.PERMANENT, code)
        assert not stub.requests


async def test_a_query_and_headers_of_the_client_go_with_each_request() -> None:
    options: dict[str, Any] = {"query": {"api-version": "2"}, "headers": {"X-Title": "demo"}}
    async with serving(**options) as (stub, client):
        await heard(client)
        (seen,) = stub.requests
    assert (seen.path, seen.query) == (ANSWERS, "api-version=2")
    assert seen.headers["x-title"] == "demo"
    assert "authorization" not in seen.headers

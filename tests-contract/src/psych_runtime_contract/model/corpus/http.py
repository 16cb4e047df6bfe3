"""H: HTTP. Replies that are no stream, statuses and their hints, connections that are kept or fall silent."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from typing import Any

from psych_runtime.testing.http_stub import Raw, Reply
from psych_runtime_contract.model.cases import KEY, Call, ErrorKind, Outcome, WireCase
from psych_runtime_contract.model.chat import (
    DONE,
    HEAD,
    JSON,
    SSE,
    answered,
    broken,
    event,
    failure,
    finish,
    sent,
    sse,
    streamed,
    text,
    unended,
)
from psych_runtime_contract.model.lapse import Silence
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.usage import Usage

HELLO = Outcome(text="Hello")
FIRE = "The engine is on fire"
HTML = {"content-type": "text/html; charset=utf-8"}
PAGE = (
    b"<!doctype html><html><head>%b<title>Service Unavailable</title></head>"
    b"<body><p>Come back later.</p>%b</body></html>"
)
STYLE = b"<style>%b</style>" % (b"a{color:red} " * 4_000)
SCRIPT = b"<script>%b</script>" % (b"colored(red); " * 4_000)


def completion(message: Mapping[str, Any], reason: str = "stop") -> dict[str, Any]:
    """A whole reply in JSON."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }


# --- replies that are no stream ------------------------------------------------------------------------


def _documents() -> Iterator[WireCase]:
    whole = answered(completion({"content": "Hello"}))
    used = Usage(input=7, output=2)
    yield WireCase("H1.an answer", whole, Outcome(text="Hello", usage=used))
    for name, headers in (("a stream by its type", SSE), ("plain text", {"content-type": "text/plain"})):
        reply = Reply(body=b"\n " + whole.body, headers=headers)
        yield WireCase(f"H1.an answer, {name}", reply, Outcome(text="Hello", usage=used))
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": '{"at": 1}'}}
        for id, name in (("a", "look"), ("b", "find"))
    ]
    calls = tuple(Call(name, '{"at": 1}', id) for id, name in (("a", "look"), ("b", "find")))
    called = answered(completion({"content": None, "tool_calls": made}, "tool_calls"))
    outcome = Outcome(calls=calls, finish=FinishReason.TOOL_CALLS, usage=used)
    yield WireCase("H1.calls", called, outcome)
    kinds: dict[str, tuple[dict[str, Any], ErrorKind]] = {
        "an error": (failure(FIRE), "transient"),
        "an error with code 400": (failure(FIRE, code=400), "permanent"),
        "an error with code 429": (failure(FIRE, code="429"), "transient"),
        "a bad key": (failure(FIRE, code="invalid_api_key"), "auth"),
    }
    for name, (error, kind) in kinds.items():
        yield WireCase(f"H1.{name}", answered(error), Outcome(error=kind, message_contains=(FIRE,)))


def _no_models() -> Iterator[WireCase]:
    rows = {
        "200 HTML": (Reply(body=PAGE % (b"", b""), headers=HTML), "text/html"),
        "204": (Reply(status=204), "204"),
        # Who goes there asks the stub for what it does not know.
        "302": (Reply(status=302, headers={"location": "/elsewhere"}), "302"),
    }
    for name, (reply, named) in rows.items():
        outcome = Outcome(error="permanent", code="not_a_model", message_contains=(named,))
        yield WireCase(f"H2.{name}", reply, outcome)
    empty = Outcome(error="transient", code="empty_response")
    for name, headers in (("a stream", SSE), ("JSON", JSON), ("no content type", {})):
        yield WireCase(f"H3.{name}", Reply(headers=headers), empty)


# --- statuses ------------------------------------------------------------------------------------------

NOON = "Tue, 25 Nov 2025 12:00:00 GMT"
HINTS: dict[str, tuple[Mapping[str, str], float | tuple[float, float] | None]] = {
    "H4.7": ({"retry-after": "7"}, 7),
    "H4.0.5": ({"retry-after": "0.5"}, 0.5),
    "H4.a date in 5 s": ({"retry-after": "Tue, 25 Nov 2025 12:00:05 GMT", "date": NOON}, (5, 6)),
    "H4.a past date": ({"retry-after": "Tue, 25 Nov 2025 11:59:55 GMT", "date": NOON}, 0),
    "H4.a past date, no Date": ({"retry-after": NOON}, 0),
    "H4.the year 2099": ({"retry-after": "Sun, 25 Jan 2099 12:00:00 GMT", "date": NOON}, 86_400),
    "H4.the year 2099, no Date": ({"retry-after": "Sun, 25 Jan 2099 12:00:00 GMT"}, 86_400),
    "H5.-1": ({"retry-after": "-1"}, None),
    "H5.nan": ({"retry-after": "nan"}, None),
    "H5.1e999": ({"retry-after": "1e999"}, None),
    "H5.soon": ({"retry-after": "soon"}, None),
    "H6.beside seconds": ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
    "H6.beside a date": ({"retry-after-ms": "1500", "retry-after": NOON, "date": NOON}, 1.5),
}


def _statuses() -> Iterator[WireCase]:
    for name, (headers, hint) in HINTS.items():
        reply = answered(failure(FIRE), 429, {**JSON, **headers})
        outcome = Outcome(error="transient", message_contains=(FIRE,), retry_after=hint)
        yield WireCase(name, reply, outcome)
    readable = Outcome(
        error="transient",
        message_contains=("Service Unavailable", "503"),
        message_hides=("<", "red"),
        message_at_most=500,
    )
    page = Reply(status=503, body=PAGE % (STYLE, SCRIPT), headers=HTML)
    yield WireCase("H7.503 with 100 KB of HTML", page, readable, "few")
    silent = Outcome(error="transient", message_contains=("500",), message_at_most=500)
    yield WireCase("H7.500 empty", Reply(status=500), silent)
    packed = gzip.compress(answered(failure(FIRE)).body, mtime=0)
    zipped = Reply(status=500, body=packed, headers={**JSON, "content-encoding": "gzip"})
    spoken = Outcome(error="transient", message_contains=(FIRE,), message_at_most=500)
    yield WireCase("H7.gzip", zipped, spoken)
    masked = Outcome(error="auth", message_contains=("Incorrect key", "***"), message_hides=(KEY,))
    echoes = {"JSON": answered(failure(f"Incorrect key {KEY}."), 401)}
    echoes["text"] = Reply(status=401, body=f"Incorrect key: Bearer {KEY}".encode())
    for name, reply in echoes.items():
        yield WireCase(f"H8.{name}", reply, masked)


# --- connections ---------------------------------------------------------------------------------------

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"


def _connections() -> Iterator[WireCase]:
    body = sse(text("Hello"), finish(), DONE)
    yield WireCase("H9.1xx first", Raw((*INTERIM, HEAD, body)), HELLO)
    kept = Outcome(text="Hello", keeps=True)
    late = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
    used = Outcome(text="Hello", usage=Usage(input=7, output=2), keeps=True)
    document = answered(completion({"content": "Hello"}))
    yield WireCase("H9.two calls, [DONE]", streamed(text("Hello"), finish()), kept)
    yield WireCase("H9.two calls, chunked", Reply(chunks=(body,), headers=SSE), kept)
    yield WireCase("H9.two calls, no [DONE]", unended(text("Hello"), finish()), kept)
    yield WireCase("H9.two calls, usage after [DONE]", sent(body + late), used)
    yield WireCase("H9.two calls, JSON", document, used)
    length = f"content-length: {len(body)}\r\n\r\n".encode()
    early = Raw((*INTERIM, HEAD[:-2] + length, body), "keep")
    yield WireCase("H9.two calls, 1xx first", early, kept)
    idle = Outcome(error="transient", code="idle", silence=(299, 302))
    yield WireCase("H10.before headers", Raw((Silence(400),)), idle, "few")
    silent = Outcome(error="transient", code="idle", text="Hel", silence=(299, 302))
    yield WireCase("H10.after a token", broken(sse(text("Hel")), Silence(400)), silent, "few")


CASES: tuple[WireCase, ...] = (*_documents(), *_no_models(), *_statuses(), *_connections())

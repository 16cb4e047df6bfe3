"""The words of the wire `openai.chat`: what its providers send, piece by piece."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from psych_runtime.testing.http_stub import Close, Piece, Raw, Reply

Payload: TypeAlias = Mapping[str, Any] | str | bytes
"""The data of an event: JSON to be encoded, or text or bytes as they stand."""

DONE = "[DONE]"
SSE = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}
# Without a length or a coding: the reply lasts as long as its connection.
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def delta(**fields: Any) -> dict[str, Any]:
    """A chunk whose choice 0 brings these fields."""
    return choice(delta=fields)


def choice(index: int = 0, **fields: Any) -> dict[str, Any]:
    """A chunk with one choice, which has these fields beside its index."""
    return {"choices": [{"index": index, **fields}]}


def text(content: str) -> dict[str, Any]:
    """A chunk with text."""
    return delta(content=content)


def finish(word: object = "stop", **fields: Any) -> dict[str, Any]:
    """The chunk with the finish reason; `fields` stand beside its choices."""
    return {**choice(delta={}, finish_reason=word), **fields}


def call(index: int | None, name: str | None, arguments: str | None, id: str | None = None) -> dict[str, Any]:
    """A fragment of a tool call, with only the keys that are given."""
    function = {"name": name, "arguments": arguments}
    fragment = {"index": index, "id": id, "function": _given(function)}
    return _given(fragment)


def calls(*fragments: Mapping[str, Any]) -> dict[str, Any]:
    """A chunk with fragments of tool calls."""
    return delta(tool_calls=list(fragments))


def encoded(payload: Payload) -> bytes:
    """The bytes of a payload: compact JSON in UTF-8, where half a character has no form but an escape."""
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, str):
        return payload.encode()
    compact = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return compact.encode("utf-8", "backslashreplace")


def event(payload: Payload, *, name: str | None = None, end: bytes = b"\n") -> bytes:
    """One server-sent event, with a name if it has one."""
    named = b"" if name is None else b"event: " + name.encode() + end
    return named + b"data: " + encoded(payload) + end + end


def sse(*payloads: Payload, end: bytes = b"\n") -> bytes:
    """The events of a stream, one a payload."""
    return b"".join(event(payload, end=end) for payload in payloads)


def streamed(*payloads: Payload, headers: Mapping[str, str] = SSE) -> Reply:
    """A stream of these payloads and `[DONE]`."""
    return sent(sse(*payloads, DONE), headers=headers)


def unended(*payloads: Payload) -> Reply:
    """A stream of these payloads alone, closed as if that were all."""
    return sent(sse(*payloads))


def sent(body: bytes, *, headers: Mapping[str, str] = SSE) -> Reply:
    """A stream of these bytes."""
    return Reply(body=body, headers=headers)


def broken(*pieces: Piece, close: Close = "clean") -> Raw:
    """A stream of these pieces, whose connection is then left in the way that is given."""
    return Raw((HEAD, *pieces), close)


def answered(value: object, status: int = 200, headers: Mapping[str, str] = JSON) -> Reply:
    """A reply in JSON, no stream."""
    return Reply(status=status, body=json.dumps(value).encode(), headers=headers)


def failure(message: str, **fields: Any) -> dict[str, Any]:
    """An error as most providers write it."""
    return {"error": {"message": message, **fields}}


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}

"""The body of a request, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from psych_runtime.model.chat.request.json_bytes import wire_bytes
from psych_runtime.model.chat.request.kept import Kept
from psych_runtime.model.chat.request.limits import Unsendable, check_body
from psych_runtime.model.chat.request.media import Block
from psych_runtime.model.chat.request.messages import Terms
from psych_runtime.model.chat.request.strict_schema import is_strict
from psych_runtime.model.chat.request.trail import with_marks, written_messages
from psych_runtime_core.frozen import integral
from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.model import ModelRequest
from psych_runtime_core.schema import moved

Field: TypeAlias = tuple[str, bytes]

_TOOLS: Kept[bytes] = Kept()


def encode_request(request: ModelRequest, terms: Terms, *, cache_key: str | None = None) -> bytes:
    """`request` as compact UTF-8 JSON, the messages last: a conversation that grows has a body that begins
    with the one before, but for its last two bytes and its cache marks.

    Raises `Unsendable` for what this wire cannot carry, and for what is beyond a limit.
    """
    written = b",".join(
        b"%s:%s" % (wire_bytes(key), value)
        for key, value in (
            *_head(request, terms),
            *_answer(request, terms),
            *_cache_key(request, terms, cache_key),
            *_options(request, terms),
            *_tools(request.tools),
            ("messages", _list(_messages(request, terms))),
        )
    )
    body = b"{%s}" % written
    check_body(len(body))
    return body


def _head(request: ModelRequest, terms: Terms) -> Iterator[Field]:
    dialect = terms.dialect
    stated: dict[str, Json] = {
        "model": request.model,
        "stream": True,
        "stream_options": {"include_usage": True} if dialect.stream_options else None,
        dialect.max_tokens_field: request.max_output_tokens,
        "temperature": _number(request.temperature),
        "top_p": _number(request.top_p),
        "stop": list(request.stop) or None,
        "reasoning_effort": request.reasoning_effort,
    }
    if request.tools:
        sent = dialect.parallel_tool_calls and terms.capabilities.parallel_tool_calls
        stated["parallel_tool_calls"] = request.parallel_tool_calls if sent else None
        stated["tool_choice"] = _tool_choice(request.tool_choice)
    for key, value in stated.items():
        if value is not None:
            yield key, wire_bytes(value)


def _number(value: float | None) -> float | None:
    """Equal numbers have equal bytes."""
    return None if value is None else integral(float(value))


def _tool_choice(choice: str) -> Json:
    if choice == "auto":
        return None
    if choice in {"none", "required"}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _answer(request: ModelRequest, terms: Terms) -> Iterator[Field]:
    """The form that the answer must have, as far as the model can be bound to one."""
    schema, able = request.output_schema, terms.capabilities
    if schema is None:
        return
    bound = able.bound(with_tools=bool(request.tools))
    if bound == "none":
        beside = " while tools are offered" if able.structured_output != "none" else ""
        words = f"{request.model} cannot bind an answer to a schema{beside}."
        raise Unsendable("unsupported_output", words)
    if bound == "json":
        yield "response_format", b'{"type":"json_object"}'
        return
    strict = b'"strict":true,' if is_strict(schema) else b""
    named = b'{"name":"answer",%s"schema":%s}' % (strict, encode_json(schema))
    yield "response_format", b'{"type":"json_schema","json_schema":%s}' % named


def _cache_key(request: ModelRequest, terms: Terms, cache_key: str | None) -> Iterator[Field]:
    if cache_key is not None and terms.dialect.prompt_cache_key and request.prompt_cache != "off":
        yield "prompt_cache_key", wire_bytes(cache_key)


def _options(request: ModelRequest, terms: Terms) -> Iterator[Field]:
    options = {**terms.dialect.options, **request.options}
    for key in sorted(options):
        yield key, encode_json(options[key])


# --- tools ---------------------------------------------------------------------------------------------


def _tools(tools: Sequence[ToolDefinition]) -> Iterator[Field]:
    if tools:
        yield "tools", _list([_TOOLS.get(tool) or _TOOLS.put(tool, _tool(tool)) for tool in tools])


def _tool(tool: ToolDefinition) -> bytes:
    strict: Block = {"strict": True} if tool.strict else {}
    function: Block = {
        "name": tool.name,
        "description": tool.description,
        "parameters": _parameters(tool.parameters),
        **strict,
    }
    return wire_bytes({"type": "function", "function": function})


def _parameters(schema: Mapping[str, Json]) -> Json:
    """The schema of an object, its keys sorted at every depth.

    Some providers refuse what it says of itself as a document.
    """
    return _sorted({"type": "object", "properties": {}, **moved(schema, "")})


def _sorted(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


# --- messages ------------------------------------------------------------------------------------------


def _messages(request: ModelRequest, terms: Terms) -> Sequence[bytes]:
    pieces = written_messages(request.messages, terms)
    if terms.capabilities.cache != "breakpoints" or request.prompt_cache == "off":
        return pieces
    return with_marks(pieces, request.cache_breakpoints, _mark(request))


def _mark(request: ModelRequest) -> Block:
    lasting: Block = {"ttl": "1h"} if request.prompt_cache == "long" else {}
    return {"cache_control": {"type": "ephemeral", **lasting}}


def _list(items: Sequence[bytes]) -> bytes:
    return b"[%s]" % b",".join(items)

"""The wire `openai.chat`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from psych_runtime.testing.http_stub import SeenRequest
from psych_runtime_contract.model import chat
from psych_runtime_contract.model.corpus import CASES
from psych_runtime_contract.model.wires import Wire
from psych_runtime_core.jsonvalue import Json

_TOLD_ALIKE = ("model", "temperature", "top_p", "stop", "reasoning_effort", "parallel_tool_calls")


def _says(text: str) -> tuple[bytes, ...]:
    half = len(text) // 2
    payloads: list[chat.Payload] = [chat.text(text[:half]), chat.text(text[half:]), chat.finish(), chat.DONE]
    return tuple(chat.event(payload) for payload in payloads)


def _calls(names: tuple[str, ...]) -> tuple[bytes, ...]:
    opened: list[chat.Payload] = [
        chat.calls(chat.call(n, name, "{}", f"call_{n}")) for n, name in enumerate(names)
    ]
    ended = (*opened, chat.finish("tool_calls"), chat.DONE)
    return tuple(chat.event(payload) for payload in ended)


def _asked(request: SeenRequest) -> str:
    content = request.json["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _tool(function: Any) -> Json:
    return {name: function.get(name) for name in ("name", "description", "parameters")}


def _told(body: Any) -> Mapping[str, Json]:
    first, choice = body["messages"][0], body.get("tool_choice")
    told: dict[str, Json] = {
        **{name: body.get(name) for name in _TOLD_ALIKE},
        "system": first["content"] if first["role"] in {"system", "developer"} else None,
        "tools": [_tool(each["function"]) for each in body.get("tools", ())],
        "tool_choice": choice["function"]["name"] if isinstance(choice, dict) else choice,
        "output_schema": body.get("response_format", {}).get("json_schema", {}).get("schema"),
        "max_output_tokens": body.get("max_completion_tokens", body.get("max_tokens")),
        "options": {name: body[name] for name in ("seed",) if name in body},
    }
    return {name: value for name, value in told.items() if value is not None}


def _assistant(body: Any) -> Mapping[str, Any]:
    said: list[Mapping[str, Any]] = [each for each in body["messages"] if each["role"] == "assistant"]
    return said[-1] if said else {}


def _faults(body: Any) -> Iterator[str]:
    """As the strictest of its servers judges a conversation."""
    seen: set[str] = set()
    due: list[str] = []
    for number, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in due:
                yield f"message {number} answers no open call: {message.get('tool_call_id')!r}"
            else:
                due.remove(message["tool_call_id"])
            continue
        if due:
            yield f"message {number} comes before the results of {due}"
        due = [one.get("id") for one in message.get("tool_calls", ())]
        yield from _faults_of_calls(number, message.get("tool_calls", ()), seen)
        if not message.get("content") and not due:
            yield f"message {number} says nothing"
    if due:
        yield f"the conversation ends before the results of {due}"


def _faults_of_calls(number: int, calls: Any, seen: set[str]) -> Iterator[str]:
    for call in calls:
        id, function = call.get("id"), call.get("function", {})
        if not isinstance(id, str) or not id or id in seen:
            yield f"message {number} has a call whose id is {id!r}, which is missing or stands twice"
        seen.add(id)
        if not function.get("name") or not _is_object(function.get("arguments")):
            yield f"message {number} has a call that no server takes: {function!r}"


def _is_object(arguments: Any) -> bool:
    try:
        return isinstance(json.loads(arguments, parse_constant=_no_number), dict)
    except (TypeError, ValueError, RecursionError):
        return False


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


WIRE = Wire(
    base="/v1",
    path="/v1/chat/completions",
    cases=CASES,
    headers=chat.SSE,
    says=_says,
    calls=_calls,
    failure=chat.answered(chat.failure("busy"), 503, {**chat.JSON, "retry-after": "7"}),
    asked=_asked,
    told=_told,
    assistant=_assistant,
    faults=_faults,
)

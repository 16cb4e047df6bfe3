"""Model calls as JSON: what was asked, by whom, what was streamed and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

from pydantic import TypeAdapter

from psych_runtime.failures.classify import attribute, classify
from psych_runtime.testing.canonical import by_digest, canonical
from psych_runtime_core.errors import (
    AccessDenied,
    CallSource,
    CredentialNotFound,
    ModelError,
    ModelErrorKind,
    ResponseTooLarge,
)
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.model import (
    MediaDelta,
    ModelCallContext,
    ModelCapabilities,
    ModelRequest,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime_core.records.tree import plain
from psych_runtime_core.scope import Scope
from psych_runtime_core.usage import Cost, Usage

JsonTree = dict[str, Any]

_EVENTS: Mapping[str, type[StreamEvent]] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "refusal": RefusalDelta,
    "tool_call": ToolCallDelta,
    "media": MediaDelta,
    "opaque": OpaqueDelta,
    "done": StreamDone,
}
_TAGS = {kind: tag for tag, kind in _EVENTS.items()}
_READERS: Mapping[str, TypeAdapter[StreamEvent]] = {tag: TypeAdapter(kind) for tag, kind in _EVENTS.items()}
_CAPABILITIES = TypeAdapter(ModelCapabilities)
_TOLD = frozenset({"code", "status", "retry_after_seconds", *CallSource.__annotations__})
# Trace headers may be anything, and a recording holds no header.
_UNWRITTEN = frozenset({"headers"})


def request_json(request: ModelRequest) -> JsonTree:
    """What decides the answer, in its canonical form; fields at their defaults are left out."""
    tree = _fields(replace(request, messages=canonical(request.messages), tools=()))
    return {**tree, "tools": [_told(tool) for tool in request.tools]} if request.tools else tree


def context_json(context: ModelCallContext) -> JsonTree:
    """Who asks, and where in which Run; no headers."""
    return _fields(context)


def capabilities_json(capabilities: ModelCapabilities) -> JsonTree:
    return _fields(capabilities)


def capabilities_of(tree: JsonTree) -> ModelCapabilities:
    return _CAPABILITIES.validate_python(tree)


def event_json(event: StreamEvent) -> JsonTree:
    """An event by its `type`. Raises `TypeError` for what is none."""
    tag = _TAGS.get(type(event))
    if tag is None:
        raise TypeError(f"the stream yielded {type(event).__name__}; yield TextDelta(…) and its kin")
    if isinstance(event, MediaDelta):
        event = replace(event, media=by_digest(event.media))
    return {"type": tag, **_fields(event)}


def event_of(tree: JsonTree) -> StreamEvent:
    """The event of such a tree. Raises `ValueError` for any other."""
    given = dict(tree)
    reader = _READERS.get(given.pop("type", ""))
    if reader is None:
        raise ValueError(f"{tree.get('type')!r} is no type of an event")
    return reader.validate_python(given)


def error_json(error: Exception) -> JsonTree:
    """An error by its `type`; one that no client may raise as the `ModelError` that it means."""
    match error:
        case ModelError():
            told = {name: plain(getattr(error, name)) for name in _TOLD if getattr(error, name) is not None}
            return {"type": "model_error", "kind": error.kind.value, "message": error.message, **told}
        case AccessDenied():
            return {"type": "access_denied", "subject": error.subject, "reason": error.reason}
        case CredentialNotFound():
            return {"type": "credential_not_found", "name": error.name}
        case ResponseTooLarge():
            return {
                "type": "response_too_large",
                "origin": error.origin,
                "limit_bytes": error.limit_bytes,
            }
        case _:
            return error_json(_meant(error))


def error_of(tree: JsonTree, scope: Scope) -> Exception:
    """The error of such a tree, met by a call of `scope`. Raises `ValueError` for any other tree."""
    match tree:
        case {"type": "model_error", "kind": kind, "message": message, **told} if told.keys() <= _TOLD:
            return ModelError(ModelErrorKind(kind), message, **_figures(told))
        case {"type": "access_denied", "subject": subject, "reason": reason}:
            return AccessDenied(subject, reason)
        case {"type": "credential_not_found", "name": name}:
            return CredentialNotFound(scope, name)
        case {"type": "response_too_large", "origin": origin, "limit_bytes": limit}:
            return ResponseTooLarge(origin, limit)
        case _:
            raise ValueError(f"{tree.get('type')!r} is no error of these fields")


def _meant(error: Exception) -> ModelError:
    kind, retry_after = classify(error)
    status = attribute(error, "status_code")
    return ModelError(
        ModelErrorKind(kind.value),
        f"{type(error).__name__}: {error}",
        status=status if isinstance(status, int) else None,
        retry_after_seconds=retry_after,
        begun=False if attribute(error, "sent") is False else None,
    )


def _figures(told: JsonTree) -> JsonTree:
    """What an error was told with; of a price the values that its JSON stands for."""
    kinds: Mapping[str, type[Usage | Cost]] = {"usage": Usage, "cost": Cost}
    return {name: kinds[name].model_validate(held) if name in kinds else held for name, held in told.items()}


def _fields(value: Any) -> JsonTree:
    """The fields of a dataclass that are not at their defaults."""
    tree: JsonTree = {}
    for field in fields(value):
        held = getattr(value, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if field.name not in _UNWRITTEN and (default is MISSING or held != default):
            tree[field.name] = plain(held)
    return tree


def _told(tool: ToolDefinition) -> JsonTree:
    """What a provider is told of a tool; how it is run here says nothing of the answer."""
    told = {"name": tool.name, "description": tool.description, "parameters": plain(tool.parameters)}
    return {**told, "strict": True} if tool.strict else told

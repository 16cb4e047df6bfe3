"""The wires that a suite can speak: where a model is asked, the cases, and how requests are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import anyio

from psych_runtime.testing.http_stub import Gate, Reply, SeenRequest
from psych_runtime_contract.model.cases import WireCase
from psych_runtime_core.jsonvalue import Json

_HOMES = {"openai.chat": "psych_runtime_contract.model.chat_wire"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A way to talk to a model over HTTP."""

    base: str
    """What follows the stub's URL in the base URL of a client."""
    path: str
    """Where requests are posted."""
    cases: tuple[WireCase, ...]
    headers: Mapping[str, str]
    """Of a stream."""
    says: Callable[[str], tuple[bytes, ...]]
    """The events of an answer with this text; the last of them end it."""
    calls: Callable[[tuple[str, ...]], tuple[bytes, ...]]
    """The events of an answer with a call of each of these tools."""
    failure: Reply
    """A transient error that asks for another try in 7 seconds."""
    asked: Callable[[SeenRequest], str]
    """The text of the newest message of a request."""
    told: Callable[[Any], Mapping[str, Json]]
    """What the body of a request tells beside its conversation, in the words of `ModelRequest`."""
    assistant: Callable[[Any], Mapping[str, Any]]
    """The newest message of the model in the body of a request."""
    faults: Callable[[Any], Iterator[str]]
    """Why a strict server would refuse the body of a request."""

    def answer(self, text: str) -> Reply:
        """A good reply that says `text`."""
        return Reply(body=b"".join(self.says(text)), headers=self.headers)

    def held(self, events: int) -> Reply:
        """A good reply that stops after so many events; after none, before its head."""
        pieces: list[bytes | Gate] = [*self.says("Hello there")[:events], anyio.Event()]
        return Reply(chunks=pieces, headers=self.headers, gate=None if events else anyio.Event())


def wire_named(name: str) -> Wire:
    """The wire of this name. Raises `ValueError` for one that no suite speaks."""
    if name not in _HOMES:
        raise ValueError(f"no suite speaks the wire {name!r}; give one of {', '.join(_HOMES)}, or None")
    wire: Wire = import_module(_HOMES[name]).WIRE
    return wire

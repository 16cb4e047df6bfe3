"""What a stub answers with, and what it keeps of a request it saw."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import parse_qsl

from psych_runtime_core.jsonvalue import Json


class Gate(Protocol):
    """Holds a reply back until somebody opens it: an `anyio.Event`, an `asyncio.Event`."""

    async def wait(self) -> object: ...


Piece: TypeAlias = bytes | Gate
"""Bytes that leave in a packet of their own, or a gate before the next ones."""

Close: TypeAlias = Literal["clean", "reset", "hold", "half", "keep"]
"""How a connection is left: closed, reset, held open in silence, closed on our side alone, kept for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply in good HTTP: one of `json`, `body` and `chunks`, which go out one by one in chunked coding.

    It is held back, its head too, for `delay_seconds` of the stub's clock and then until `gate` opens.
    """

    status: int = 200
    json: Json = None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    chunks: Sequence[Piece] = ()
    delay_seconds: float = 0.0
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes exactly as they are on the wire, head included, and what becomes of the connection then."""

    chunks: Sequence[Piece]
    close: Close = "clean"


@dataclass(eq=False, slots=True)
class SeenRequest:
    """A request as it came: `target` raw, header names in lower case, repeated ones joined by a comma.

    `connection` counts from 1. `closed_early_at` is the stub's monotonic time when the client left before
    its reply was finished (one that is held open never is), else None.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    closed_early_at: float | None = None
    _left: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query as it stands, without its question mark."""
        return self.target.partition("?")[2]

    @property
    def params(self) -> list[tuple[str, str]]:
        """The query, decoded, in its order."""
        return parse_qsl(self.query, keep_blank_values=True)

    @property
    def json(self) -> Any:
        """The body, decoded. Raises `ValueError` for one that is no JSON."""
        return json.loads(self.body)

    async def closed_early(self) -> float:
        """When the client left before its reply was finished; waits until it does."""
        await self._left.wait()
        assert self.closed_early_at is not None
        return self.closed_early_at

    def left(self, at: float) -> None:
        """The client is gone, and its reply was not finished."""
        self.closed_early_at = at
        self._left.set()


Answer: TypeAlias = Reply | Raw | Callable[[SeenRequest], "Reply | Raw | Awaitable[Reply | Raw]"]
"""A reply, or a function of the request that gives one, plain or async."""

"""What a real provider said, written down once, and played again without it."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psych_runtime.testing.json_difference import Difference, differences
from psych_runtime.testing.model_json import (
    JsonTree,
    capabilities_json,
    context_json,
    error_json,
    event_json,
    request_json,
)
from psych_runtime.testing.model_proxy import ModelProxy
from psych_runtime.testing.recorded_calls import (
    CANCELLED,
    RecordedCall,
    RecordingUnreadable,
    append,
    begin,
    digest_of,
    read_recording,
)
from psych_runtime.testing.silence import silence
from psych_runtime_core.clock import SystemClock
from psych_runtime_core.errors import ModelError
from psych_runtime_core.ports.model import (
    ModelCallContext,
    ModelCapabilities,
    ModelClient,
    ModelRequest,
    StreamDone,
    StreamEvent,
)

__all__ = ["RecordingClient", "RecordingMismatch", "RecordingUnreadable", "Redact", "ReplayClient"]

Redact: TypeAlias = Callable[[Any], Any]
"""Gives a JSON value of a recording as it may be kept: a request, a context, an event or an error."""


class RecordingMismatch(AssertionError):
    """No unused call of a recording asked for this.

    `difference` is the first one to the nearest unused request, the recorded value at its left; None where
    every call is used.
    """

    def __init__(self, path: Path, line: int | None, difference: Difference | None) -> None:
        self.path, self.line, self.difference = path, line, difference
        super().__init__(f"{path}: {_said(line, difference)}; record it anew, or ask for what it holds")


class RecordingClient(ModelProxy):
    """Passes calls on to `inner`, and writes each to `path` when it ends, however it ends.

    `redact` maps all that is written first, and digests are of what it leaves. Raises `FileExistsError`.
    """

    def __init__(
        self, inner: ModelClient, path: str | os.PathLike[str], *, redact: Redact | None = None
    ) -> None:
        super().__init__(inner)
        self._path, self._redact = Path(path), redact or _as_it_is
        begin(self._path)

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        seen: list[StreamEvent] = []
        error: JsonTree | None = CANCELLED
        try:
            async with aclosing(self._model.stream(request, context)) as events:
                async for event in events:
                    seen.append(event)
                    yield event
            error = None
        except Exception as raised:
            error = error_json(raised)
            raise
        finally:
            # Who has read the end may close the stream there.
            whole = bool(seen) and isinstance(seen[-1], StreamDone)
            self._write(request, context, seen, None if whole and error is CANCELLED else error)

    def _write(
        self,
        request: ModelRequest,
        context: ModelCallContext,
        seen: Sequence[StreamEvent],
        error: JsonTree | None,
    ) -> None:
        asked = {
            **context_json(context),
            "provider": self._asked(request.model),
            "capabilities": capabilities_json(self.capabilities(request.model)),
        }
        redact = self._redact
        events = [redact(event_json(event)) for event in seen]
        kept = None if error is None else redact(error)
        append(self._path, redact(request_json(request)), redact(asked), events, kept)

    def _asked(self, model: str) -> str:
        """Who answers for `model`; a name that nobody answers for is a call like any other."""
        try:
            return self.provider_of(model)
        except ModelError:
            return self.provider


class ReplayClient:
    """Plays a recording. A call that was cancelled is silent after what it had said.

    `match` is `exact`, the next recorded call of an equal request, or `order`, the next one whatever is
    asked. Give the `redact` that it was recorded with, if its requests held what that took out. Raises
    `RecordingUnreadable`, `FileNotFoundError`, and `RecordingMismatch` from its streams.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        match: Literal["exact", "order"] = "exact",
        redact: Redact | None = None,
    ) -> None:
        if match not in {"exact", "order"}:
            raise ValueError(f"match is {match!r}; give 'exact' or 'order'")
        self._path, self._exact, self._redact = Path(path), match == "exact", redact or _as_it_is
        self._calls = read_recording(self._path)
        self._unused = list(self._calls)
        self._misses: list[RecordingMismatch] = []

    @property
    def provider(self) -> str:
        """That of the first call."""
        return self._calls[0].provider if self._calls else "replay"

    def provider_of(self, model: str) -> str:
        """That of the first call of `model`."""
        said = (call.provider for call in self._calls if call.model == model)
        return next(said, self.provider)

    def capabilities(self, model: str) -> ModelCapabilities:
        said = (call.capabilities for call in self._calls if call.model == model)
        return next(said, ModelCapabilities())

    async def known_models(self, context: ModelCallContext) -> Sequence[str]:
        del context
        return tuple(dict.fromkeys(call.model for call in self._calls))

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        call = self._take(self._redact(request_json(request)))
        for event in call.events:
            yield event
        if call.was_cancelled:
            await silence(SystemClock(), math.inf, request.idle_timeout_seconds)
        error = call.raised(context.scope)
        if error is not None:
            raise error

    def assert_exhausted(self) -> None:
        """Raise `AssertionError` for calls that nobody made and for those that the recording has not."""
        faults = [str(miss) for miss in self._misses]
        if self._unused:
            lines = ", ".join(str(call.line) for call in self._unused)
            faults.append(f"{self._path}: not played: line {lines}")
        if faults:
            raise AssertionError("\n".join(faults))

    def _take(self, request: JsonTree) -> RecordedCall:
        digest = digest_of(request)
        for call in self._unused:
            if not self._exact or call.digest == digest:
                self._unused.remove(call)
                return call
        self._misses.append(self._miss(request))
        raise self._misses[-1]

    def _miss(self, request: JsonTree) -> RecordingMismatch:
        compared = [(call.line, list(differences(call.request, request))) for call in self._unused]
        if not compared:
            return RecordingMismatch(self._path, None, None)
        line, found = min(compared, key=lambda each: len(each[1]))
        return RecordingMismatch(self._path, line, found[0])


def _as_it_is(value: Any) -> Any:
    return value


def _said(line: int | None, difference: Difference | None) -> str:
    if difference is None:
        return "each of its calls is used, and one more came"
    recorded, asked = difference.excerpts
    return f"nearest is line {line}, where {difference.path or '/'} is {recorded}, and {asked} was asked"

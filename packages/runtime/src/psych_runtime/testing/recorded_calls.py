"""The lines of a recording: a header, then one line a call, each written at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from psych_runtime.testing.model_json import JsonTree, capabilities_of, error_of, event_of
from psych_runtime_core.jsonvalue import decode_json, encode_json
from psych_runtime_core.ports.model import ModelCapabilities, StreamEvent
from psych_runtime_core.scope import Scope

VERSION = 1
# In place of an error: whoever read the stream closed it before its end.
CANCELLED: JsonTree = {"type": "cancelled"}


class RecordingUnreadable(ValueError):
    """A line of a recording that cannot be read, counted from 1. Record anew, or take the line out."""

    def __init__(self, path: Path, line: int, detail: str) -> None:
        self.path, self.line, self.detail = path, line, detail
        super().__init__(f"{path}, line {line}: {detail}; record it anew, or take the line out")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call as it was recorded, and the line it stands in; `error` None is an answer that came whole."""

    line: int
    digest: str
    request: JsonTree
    context: JsonTree
    events: tuple[StreamEvent, ...]
    error: JsonTree | None

    @property
    def was_cancelled(self) -> bool:
        return self.error == CANCELLED

    def raised(self, scope: Scope) -> Exception | None:
        """What its stream ended with, as a call of `scope` meets it."""
        return None if self.error is None or self.was_cancelled else error_of(self.error, scope)

    @property
    def provider(self) -> str:
        return str(self.context["provider"])

    @property
    def model(self) -> str:
        return str(self.request["model"])

    @property
    def capabilities(self) -> ModelCapabilities:
        """What its client said of its model."""
        return capabilities_of(self.context.get("capabilities", {}))


def digest_of(request: JsonTree) -> str:
    """SHA-256 of the canonical request."""
    return sha256(encode_json(request)).hexdigest()


def begin(path: Path) -> None:
    """A recording without calls. Raises `FileExistsError`: answers that were paid for stay."""
    try:
        with path.open("xb", buffering=0) as file:
            file.write(encode_json({"recording": VERSION}) + b"\n")
    except FileExistsError:
        raise FileExistsError(f"{path} is there already; remove it to record anew") from None


def append(
    path: Path, request: JsonTree, context: JsonTree, events: Sequence[JsonTree], error: JsonTree | None
) -> None:
    """One more call, in one write: a process that dies leaves whole lines."""
    line = {
        "digest": digest_of(request),
        "request": request,
        "context": context,
        "events": events,
        "error": error,
    }
    with path.open("ab", buffering=0) as file:
        file.write(encode_json(line) + b"\n")


def read_recording(path: Path) -> tuple[RecordedCall, ...]:
    """Every call of a recording. Raises `RecordingUnreadable`, `FileNotFoundError`."""
    try:
        *lines, rest = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        text = f"{path} is not there; record it first, with RecordingClient(client, {str(path)!r})"
        raise FileNotFoundError(text) from None
    if rest or not lines:
        raise RecordingUnreadable(path, len(lines) + 1, "it is cut short")
    header = _object(path, 1, lines[0])
    if header.get("recording") != VERSION:
        detail = f"this is no recording of version {VERSION}"
        raise RecordingUnreadable(path, 1, detail)
    return tuple(_call(path, number, line) for number, line in enumerate(lines[1:], 2))


def _call(path: Path, number: int, line: bytes) -> RecordedCall:
    tree = _object(path, number, line)
    try:
        call = RecordedCall(
            line=number,
            digest=tree["digest"],
            request=tree["request"],
            context=tree["context"],
            events=tuple(event_of(event) for event in tree["events"]),
            error=tree["error"],
        )
        # What is wrong with a line is said when it is read, and not in the middle of a test.
        _ = call.raised(Scope(tenant="reader")), call.provider, call.model, call.capabilities
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RecordingUnreadable(path, number, f"it is no recorded call: {error!r}") from error
    return call


def _object(path: Path, number: int, line: bytes) -> JsonTree:
    try:
        value: Any = decode_json(line)
    except ValueError as error:
        raise RecordingUnreadable(path, number, f"it is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise RecordingUnreadable(path, number, "it is no JSON object")
    return cast("JsonTree", value)

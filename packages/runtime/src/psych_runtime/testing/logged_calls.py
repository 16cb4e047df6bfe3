"""The model calls of a log, and for each the stream that gives the same again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from psych_runtime.testing.fake_script import ScriptEntry
from psych_runtime.testing.fake_turn import FakeTurn
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelError, ModelErrorKind
from psych_runtime_core.messages import (
    AssistantMessage,
    FilePart,
    FinishReason,
    ImagePart,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
)
from psych_runtime_core.ports.model import (
    MediaDelta,
    OpaqueDelta,
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import AskedMode, FailureKind, ModelTimings, Sent, ToolFailure
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished, ModelCallStarted


class Place(NamedTuple):
    """Where in a Run a call stands: its lane, its turn, and how many calls of that turn failed before."""

    lane: str
    turn: int
    failures: int

    def __str__(self) -> str:
        return f"lane {self.lane!r}, turn {self.turn}, after {self.failures} failed calls"


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call of a log: what it asked, None where the log does not say, and what it got from whom.

    `heard` is False of a call that perhaps never reached a model: its Policy failed, or its Run ended.
    """

    model: str
    entry: ScriptEntry
    provider: str | None = None
    tools: tuple[str, ...] | None = None
    output_mode: AskedMode | None = None
    heard: bool = True


def calls_of(records: Sequence[Record], *, paced: bool) -> dict[Place, LoggedCall]:
    """Each call of a log, in its time or at once. One that was cut off by the end of its Run is silent."""
    found: dict[Place, LoggedCall] = {}
    failures: Counter[tuple[str, int]] = Counter()
    toolsets: dict[str, tuple[str, ...]] = {}
    settled = bool(records) and isinstance(records[-1], RunSettled)
    for record in records:
        if not isinstance(record, ModelCallStarted | ModelCallFinished | ModelCallFailed):
            continue
        turn = (record.lane, record.turn)
        place = Place(*turn, failures[turn])
        if isinstance(record, ModelCallStarted):
            if settled:
                found[place] = LoggedCall(record.model, _cut_off(), heard=False)
            continue
        found[place] = replace(
            _logged(record, paced),
            tools=_tools(record.sent, toolsets),
            output_mode=record.sent.output_mode if record.sent else None,
        )
        failures[turn] += isinstance(record, ModelCallFailed)
    return found


def said(message: AssistantMessage) -> Iterator[StreamEvent]:
    """A stream that `message` comes of."""
    calls = 0
    for part in message.parts:
        match part:
            case TextPart(text=text, opaque=opaque):
                yield TextDelta(text, opaque)
            case ReasoningPart(text=text, opaque=opaque):
                yield ReasoningDelta(text, opaque)
            case RefusalPart(text=text):
                yield RefusalDelta(text)
            case ImagePart(media=media):
                yield MediaDelta(media)
            case FilePart(media=media, name=name):
                yield MediaDelta(media, name)
            case OpaquePart(kind=kind, opaque=opaque):
                yield OpaqueDelta(kind, opaque)
            case ToolCall():
                yield ToolCallDelta(calls, part.provider_id, part.name, part.arguments, part.opaque)
                calls += 1


@dataclass(frozen=True, slots=True)
class _Streamed:
    """Events, and the end `rest` seconds after the others."""

    stream: tuple[StreamEvent, ...]
    delay: float = 0.0
    rest: float = 0.0

    def events(self) -> Iterator[StreamEvent]:
        return iter(self.stream)


def _logged(record: ModelCallFinished | ModelCallFailed, paced: bool) -> LoggedCall:
    if record.erased:
        raise ValueError(f"record {record.seq} of {record.run_id} is erased; its call cannot be replayed")
    pace = _pace(record.timings) if paced else ()
    if isinstance(record, ModelCallFinished):
        entry = ScriptEntry("answer", _Streamed(_answer(record), *pace))
        return LoggedCall(record.model, entry, provider=record.message.source.provider)
    nothing = StreamDone(FinishReason.STOP, usage=record.usage, cost=record.cost)
    entry = ScriptEntry(record.failure.kind, _Streamed((nothing,), *pace), _error(record))
    return LoggedCall(record.model, entry, heard=record.sent is not None)


def _pace(timings: ModelTimings) -> tuple[float, float]:
    """Seconds to the first event, and from there to the end."""
    first, whole = timings.time_to_first_token_seconds, timings.stream_duration_seconds
    return (whole, 0.0) if first is None else (first, whole - first)


def _answer(record: ModelCallFinished) -> tuple[StreamEvent, ...]:
    done = StreamDone(
        finish_reason=record.finish_reason,
        raw_finish_reason=record.raw_finish_reason,
        usage=record.usage,
        cost=record.cost,
        served_model=record.served_model,
        response_id=record.response_id,
        service_tier=record.service_tier,
    )
    return (*said(record.message), done)


def _error(record: ModelCallFailed) -> Callable[[], Exception] | None:
    """What a client raises for `record`; None where it ended well and had said nothing."""
    failure = record.failure
    if failure.kind == FailureKind.EMPTY_RESPONSE:
        return None
    if failure.kind in _REFUSALS:
        return partial(_worded, _REFUSALS[failure.kind], failure.message)
    return partial(
        ModelError,
        _kind(failure),
        failure.message,
        code=failure.code,
        retry_after_seconds=failure.retry_after_seconds,
        begun=record.begun,
        usage=record.usage,
        cost=record.cost,
    )


def _kind(failure: ToolFailure) -> ModelErrorKind:
    """The kind that a client can say; of any other failure a log knows whether it could pass."""
    if failure.kind in set(ModelErrorKind):
        return ModelErrorKind(failure.kind)
    return ModelErrorKind.TRANSIENT if failure.transient else ModelErrorKind.PERMANENT


_REFUSALS: Mapping[str, Callable[[str, str], Exception]] = {
    "access_denied": AccessDenied,
    "credential_not_found": CredentialNotFound,
}


def _worded(kind: Callable[[str, str], Exception], message: str) -> Exception:
    """An error of `kind` that says `message`: of what it was made the log keeps no more."""
    error = kind("", "")
    error.args = (message,)
    return error


def _cut_off() -> ScriptEntry:
    return ScriptEntry("cut off", FakeTurn(delay=math.inf))


def _tools(sent: Sent | None, toolsets: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The names of the tools offered; a log lists each set where it is new."""
    if sent is None:
        return None
    if sent.tools is not None:
        toolsets[sent.tools_hash] = tuple(tool.name for tool in sent.tools)
    return toolsets.get(sent.tools_hash)

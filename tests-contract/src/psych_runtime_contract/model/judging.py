"""What is wrong with what a client made of a reply: differences to an outcome, and broken laws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from psych_runtime_contract.model.cases import ABSENT, Call, Outcome, Replayed
from psych_runtime_contract.model.playing import Played
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelError, ResponseTooLarge
from psych_runtime_core.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    ImagePart,
    OpaquePart,
    ToolCall,
)
from psych_runtime_core.ports.model import (
    ReasoningDelta,
    RefusalDelta,
    StreamDone,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)

ALLOWED = (ModelError, AccessDenied, CredentialNotFound, ResponseTooLarge)


def differences(expect: Outcome, played: Played) -> Iterator[str]:
    """Where `played` is not what was expected, a line for each."""
    if expect.error is not None:
        yield from _of_an_error(expect, played)
    elif played.message is None or played.done is None:
        yield f"an answer was expected, got {_told(played.error)}"
    else:
        yield from _of_an_answer(expect, played.message, played.done)
    if expect.silence and not expect.silence[0] <= played.silence <= expect.silence[1]:
        yield f"silence: expected {expect.silence} seconds, got {played.silence:g}"


def _of_an_answer(expect: Outcome, message: AssistantMessage, done: StreamDone) -> Iterator[str]:
    got_calls = tuple(Call(call.name, call.arguments, call.provider_id) for call in message.tool_calls)
    yield from _differs("text", expect.text or expect.refusal, message.text)
    yield from _differs("reasoning", expect.reasoning, message.reasoning)
    yield from _differs("refusal", expect.refusal, message.refusal)
    yield from _differs("calls", expect.calls, got_calls)
    yield from _differs("finish", expect.finish.value, done.finish_reason.value)
    yield from _differs("usage", expect.usage, done.usage)
    yield from _differs("cost", expect.cost, done.cost and done.cost.amount)
    if done.cost:
        yield from _differs("cost", ("USD", "provider"), (done.cost.currency, done.cost.source))
    if expect.raw_finish is not None:
        yield from _differs("raw_finish", expect.raw_finish, done.raw_finish_reason)
    if expect.parts is not None:
        yield from _differs("parts", expect.parts, tuple(_short(part) for part in message.parts))


def _short(part: AssistantPart) -> tuple[str, str]:
    match part:
        case ToolCall(name=name):
            return "call", name
        case ImagePart(media=media) | FilePart(media=media):
            return part.type, media.url or media.media_type
        case OpaquePart(kind=kind):
            return "opaque", kind
        case _:
            return part.type, part.text


def _of_an_error(expect: Outcome, played: Played) -> Iterator[str]:
    error = played.error
    kind = "too_large" if isinstance(error, ResponseTooLarge) else getattr(error, "kind", None)
    if kind != expect.error:
        yield f"error: expected {expect.error}, got {_told(error)}"
        return
    message = str(error)
    if expect.code is not None:
        yield from _differs("code", expect.code, getattr(error, "code", None))
    yield from (
        f"message lacks {part!r}: {message!r}" for part in expect.message_contains if part not in message
    )
    yield from (f"message shows {part!r}: {message!r}" for part in expect.message_hides if part in message)
    if len(message) > expect.message_at_most:
        yield f"message has {len(message)} characters, at most {expect.message_at_most} were expected"
    yield from _of_a_hint(expect.retry_after, getattr(error, "retry_after_seconds", None))
    if expect.text:
        said = "".join(event.text for event in played.events if isinstance(event, TextDelta))
        yield from _differs("text", expect.text, said)


def _of_a_hint(expected: float | tuple[float, float] | None, got: float | None) -> Iterator[str]:
    if not isinstance(expected, tuple):
        yield from _differs("retry_after", expected, got)
    elif got is None or not expected[0] <= got <= expected[1]:
        yield f"retry_after: expected from {expected[0]:g} to {expected[1]:g}, got {got}"


def unequal(expected: Replayed, got: Mapping[str, Any]) -> Iterator[str]:
    """Where the message of the next request does not hold what it must."""
    for key, value in expected.items():
        if value is ABSENT:
            yield from (f"next request: {key} must be left out, got {got[key]!r}" for _ in [0] if key in got)
        else:
            yield from _differs(f"next request: {key}", value, got.get(key, ABSENT))


def _differs(what: str, expected: object, got: object) -> Iterator[str]:
    if expected != got:
        yield f"{what}: expected {_shown(expected)}, got {_shown(got)}"


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 400 else f"{shown[:300]} … {shown[-80:]} ({len(shown)} characters)"


def _told(error: BaseException | None) -> str:
    if error is None:
        return "no error"
    if isinstance(error, ModelError):
        return f"ModelError {error.kind.value} {error.code}: {_shown(error.message)}"
    return f"{type(error).__name__}: {_shown(str(error))}"


# --- laws ----------------------------------------------------------------------------------------------


def broken_laws(played: Played) -> Iterator[str]:
    """Which laws of every client the events and the error of one call break, a line for each."""
    yield from _ends(played)
    yield from _numbers(played.events)
    yield from _texts(played.events)
    if played.error is not None and not isinstance(played.error, ALLOWED):
        yield f"law 4: {_told(played.error)} left the client"


def _ends(played: Played) -> Iterator[str]:
    ends = [index for index, event in enumerate(played.events) if isinstance(event, StreamDone)]
    if played.stopped and not ends:
        yield "law 1: the stream stopped without a StreamDone"
    if len(ends) > 1 or (ends and ends[0] != len(played.events) - 1):
        yield f"law 1: StreamDone came at {ends} of {len(played.events)} events"


def _numbers(events: list[StreamEvent]) -> Iterator[str]:
    seen = 0
    for delta in events:
        if not isinstance(delta, ToolCallDelta):
            continue
        if not 0 <= delta.index <= seen:
            yield f"law 2: call {delta.index} came before call {seen}"
        if delta.index == seen:
            seen += 1
            if not delta.name:
                yield f"law 2: call {delta.index} began without its name"


def _texts(events: list[StreamEvent]) -> Iterator[str]:
    for number, event in enumerate(events):
        if isinstance(event, TextDelta | ReasoningDelta | RefusalDelta):
            texts = [event.text]
            empty = not event.text and getattr(event, "opaque", None) is None
        elif isinstance(event, ToolCallDelta):
            texts = [event.arguments_fragment, event.name or "", event.id or ""]
            empty = not any(texts) and event.opaque is None
        else:
            continue
        if empty:
            yield f"law 3: delta {number} is empty: {event!r}"
        if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
            yield f"law 3: delta {number} holds half a character: {event!r}"

"""The entries of a scripted model: what each call of it gets, in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any, Protocol, Self, TypeAlias, overload

from psych_runtime.testing.fake_turn import (
    DEFAULT_USAGE,
    CallLike,
    FakeTurn,
    MediaLike,
    Text,
    ToolCallScript,
)
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ids import RunId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest, StreamEvent
from psych_runtime_core.usage import Cost, Usage

TurnFunction: TypeAlias = Callable[
    [ModelRequest, ModelCallContext], str | FakeTurn | Awaitable[str | FakeTurn]
]
Player: TypeAlias = tuple[RunId, str] | None


class FakeModelScriptExhausted(AssertionError):
    """A model was called more often than its script has entries."""

    def __init__(self, scripted: int, call_number: int, route: str) -> None:
        self.scripted, self.call_number, self.route = scripted, call_number, route
        super().__init__(
            f"{route}: call {call_number}, and {scripted} entries are scripted; add one, or end with repeat()"
        )


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A call as it reached the model."""

    request: ModelRequest
    context: ModelCallContext


class Reply(Protocol):
    """A silence of so many seconds, and the events after it; the last is the end, `rest` seconds later."""

    @property
    def delay(self) -> float: ...

    @property
    def rest(self) -> float: ...

    def events(self) -> Iterator[StreamEvent]: ...


@dataclass(frozen=True, slots=True)
class ScriptEntry:
    """What one call gets: a reply, or what a function says, and the error that takes its end's place."""

    label: str
    says: Reply | TurnFunction
    # Made anew each time: an exception that is raised twice mixes up its tracebacks.
    error: Callable[[], Exception] | None = None

    def may_fail(self, call: ReceivedCall) -> bool:
        """Whether it could have failed `call`; a function may do anything."""
        return callable(self.says) or self.surely_fails(call)

    def surely_fails(self, call: ReceivedCall) -> bool:
        """Whether it fails `call`, as far as can be seen before it is asked."""
        silent = 0.0 if callable(self.says) else self.says.delay
        return self.error is not None or 0 < call.request.idle_timeout_seconds < silent

    async def reply(self, call: ReceivedCall) -> Reply:
        if not callable(self.says):
            return self.says
        said = self.says(call.request, call.context)
        turn = await said if isawaitable(said) else said
        return FakeTurn(turn) if isinstance(turn, str) else turn


class Script:
    """Entries, played in the order in which they were added. Every verb returns the script."""

    def __init__(self, route: str, *, per_lane: bool) -> None:
        self._route, self._per_lane = route, per_lane
        self._entries: list[ScriptEntry] = []
        self._endless = False
        self._played: Counter[Player] = Counter()
        self._past_the_end: Counter[Player] = Counter()
        self._received: list[ReceivedCall] = []

    # --- what is scripted ---

    @overload
    def turn(self, text: TurnFunction, *, times: int = 1) -> Self: ...

    @overload
    def turn(
        self,
        text: Text = "",
        *,
        tool_calls: Sequence[CallLike] = (),
        reasoning: Text | None = None,
        refusal: str | None = None,
        opaque: Json = None,
        media: Sequence[MediaLike] = (),
        usage: Usage | None = DEFAULT_USAGE,
        cost: Cost | None = None,
        finish_reason: FinishReason | None = None,
        delay: float = 0.0,
        times: int = 1,
    ) -> Self: ...

    def turn(self, text: Text | TurnFunction = "", *, times: int = 1, **fields: Any) -> Self:
        """Answer with a `FakeTurn` of these fields, or with what `text(request, context)` gives or raises.

        A function may be async, gives a `str` or a `FakeTurn`, and is asked again when a call is repeated.
        """
        if times < 1:
            raise ValueError(f"times is {times}; an entry is played once or more")
        if not callable(text):
            return self._add(ScriptEntry(f"turn({text!r:.40})", FakeTurn(text, **fields)), times)
        if fields:
            raise ValueError(f"a function says all of its turn: return FakeTurn with {', '.join(fields)}")
        return self._add(ScriptEntry(f"turn({getattr(text, '__name__', text)})", text), times)

    def stalls(self, seconds: float | None = None) -> Self:
        """Be silent for `seconds`, then end; past the request's idle timeout (None: always) fail `idle`."""
        return self._add(ScriptEntry("stalls", FakeTurn(delay=math.inf if seconds is None else seconds)))

    def aborts_mid_token(self, text: Text = "") -> Self:
        """Break off after `text`."""
        return self._add(ScriptEntry("aborts_mid_token", FakeTurn(text), _truncated))

    def aborts_mid_call(self, name: str, arguments_prefix: str) -> Self:
        """Break off in the arguments of a call."""
        call = ToolCallScript(name, raw_arguments=arguments_prefix)
        return self._add(ScriptEntry("aborts_mid_call", FakeTurn(tool_calls=(call,)), _truncated))

    def fails(
        self,
        kind: ModelErrorKind | str,
        *,
        status: int | None = None,
        code: str | None = None,
        message: str | None = None,
        retry_after: float | None = None,
        after: Text = "",
    ) -> Self:
        """Send `after`, then fail with a `ModelError`; `retry_after` is in seconds."""
        kind = ModelErrorKind(kind)
        error = partial(
            ModelError,
            kind,
            message or f"the script of this model says {kind.value}",
            code=code,
            status=status,
            retry_after_seconds=retry_after,
        )
        return self._add(ScriptEntry(f"fails({kind.value})", FakeTurn(after), error))

    def raises_transient(self, status: int = 503) -> Self:
        return self.fails(ModelErrorKind.TRANSIENT, status=status)

    def raises_permanent(self, status: int = 400) -> Self:
        return self.fails(ModelErrorKind.PERMANENT, status=status)

    def overflows(self) -> Self:
        return self.fails(ModelErrorKind.CONTEXT_OVERFLOW, status=400, code="context_length_exceeded")

    def filters(self) -> Self:
        return self.fails(ModelErrorKind.CONTENT_FILTER, status=400, code="content_filter")

    def rejects_auth(self) -> Self:
        return self.fails(ModelErrorKind.AUTH, status=401, code="invalid_api_key")

    def repeat(self) -> Self:
        """Play the last entry for ever."""
        if not self._entries:
            raise ValueError("there is nothing to repeat; add an entry first")
        self._endless = True
        return self

    def _add(self, entry: ScriptEntry, times: int = 1) -> Self:
        if self._endless:
            raise ValueError("nothing is played after repeat(); add entries before it")
        self._entries.extend([entry] * times)
        return self

    # --- what was asked ---

    @property
    def calls(self) -> tuple[ReceivedCall, ...]:
        return tuple(self._received)

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        return tuple(call.request for call in self._received)

    @property
    def last_request(self) -> ModelRequest:
        """Raises `LookupError` when there was none."""
        if not self._received:
            raise LookupError(f"{self._route}: this model was not called")
        return self._received[-1].request

    def assert_exhausted(self) -> None:
        """Raise `AssertionError` for entries that nobody played and for calls past the end."""
        faults = list(self._faults())
        if faults:
            raise AssertionError("\n".join(faults))

    def _faults(self) -> Iterator[str]:
        for player in self._played or (None,):
            lane = f", lane {player[1]!r} of {player[0]}" if player else ""
            unspent = list(enumerate(self._entries, 1))[self._played[player] :]
            if unspent:
                names = ", ".join(f"#{number} {entry.label}" for number, entry in unspent)
                yield f"{self._route}{lane}: not played: {names}"
            if self._past_the_end[player]:
                yield f"{self._route}{lane}: calls past the end: {self._past_the_end[player]}"

    # --- playing ---

    def _begin(self, call: ReceivedCall) -> None:
        """Go to where other processes left the lane of `call`, as far as its turn and failures tell."""
        if self._per_lane:
            spent = _spent(self._entries, call)
            is_over = spent == len(self._entries) and not self._endless
            # Failures that are not its own are those of another model, whose fallback gave no answer so far.
            is_fallback = is_over and call.context.failures > 0 and not _are_all(self._entries, call)
            self._played[self._player(call)] = 0 if is_fallback else spent

    def _player(self, call: ReceivedCall) -> Player:
        return (call.context.run_id, call.context.lane) if self._per_lane else None

    def _take(self, call: ReceivedCall) -> ScriptEntry:
        player = self._player(call)
        played = self._played[player]
        self._played[player] = min(played + 1, len(self._entries))
        if played < len(self._entries):
            return self._entries[played]
        if self._endless:
            return self._entries[-1]
        self._past_the_end[player] += 1
        number = played + self._past_the_end[player]
        raise FakeModelScriptExhausted(len(self._entries), number, self._route)


def _spent(entries: Sequence[ScriptEntry], call: ReceivedCall) -> int:
    """How many entries were played before `call`: an answer for each turn, and the failures between them."""
    answers, failures = call.context.turn - 1, call.context.failures
    for number, entry in enumerate(entries):
        if answers > 0:
            answers -= not entry.surely_fails(call)
        elif failures > 0 and entry.may_fail(call):
            failures -= 1
        else:
            return number
    return len(entries)


def _are_all(entries: Sequence[ScriptEntry], call: ReceivedCall) -> bool:
    """Whether the answers and failures before `call` are those of the entries, with none of another model.

    Failures alone are as likely another's, and do no harm where they come twice.
    """
    fails = [entry.surely_fails(call) for entry in entries]
    answers, failures = call.context.turn - 1, call.context.failures
    return 0 < answers == fails.count(False) and fails[-failures:] == [True] * failures


def _truncated() -> ModelError:
    return ModelError(ModelErrorKind.TRANSIENT, "the stream broke off without an end", code="truncated")

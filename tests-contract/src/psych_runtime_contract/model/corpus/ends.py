"""D: ends. What closes an answer, what breaks it off, what still comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psych_runtime.testing.http_stub import Raw
from psych_runtime_contract.model.cases import Call, Outcome, WireCase
from psych_runtime_contract.model.chat import (
    DONE,
    broken,
    call,
    calls,
    choice,
    event,
    finish,
    sent,
    sse,
    streamed,
    text,
    unended,
)
from psych_runtime_contract.model.lapse import Silence
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.usage import Usage

HELLO = Outcome(text="Hello")
TRUNCATED = Outcome(error="transient", code="truncated", text="Hello")
LOOK = Call("look", '{"at": 1}', "call_1")
LOOKED = calls(call(0, LOOK.name, LOOK.arguments, LOOK.id))
CALLED = Outcome(calls=(LOOK,), finish=FinishReason.TOOL_CALLS)
USED: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def _closes() -> Iterator[WireCase]:
    said = sse(text("Hello"))
    spellings = {
        "blanks": b"data:   [DONE]  \n\n",
        "CR": b"data: [DONE]\r\r",
        "lower case": b"data: [done]\n\n",
    }
    for name, done in spellings.items():
        yield WireCase(f"D1.{name}", sent(said + done), HELLO)
    ended = sse(text("Hello"), finish())
    yield WireCase("D2.closed", sent(ended), HELLO)
    yield WireCase("D2.closed without a length", broken(ended), HELLO)
    waited = Outcome(text="Hello", silence=(9, 12))
    yield WireCase("D2.held open", broken(ended, Silence(60)), waited, "few")
    yield WireCase("D3.text", unended(text("Hello")), TRUNCATED)
    yield WireCase("D3.a call", unended(LOOKED), Outcome(error="transient", code="truncated"))
    yield WireCase("D3.nothing", sent(b": hello\n\n"), Outcome(error="transient"))
    yield WireCase("D4.text", streamed(text("Hello")), HELLO)
    yield WireCase("D4.a call", streamed(LOOKED), CALLED)
    empty = Outcome(error="transient", code="empty_response")
    yield WireCase("D4.nothing", streamed(), empty)
    yield WireCase("D4.a role", streamed(choice(delta={"role": "assistant", "content": ""})), empty)


def _after_the_end() -> Iterator[WireCase]:
    used = Outcome(text="Hello", usage=Usage(input=7, output=2))
    ended = sse(text("Hello"), finish(), DONE)
    yield WireCase("D5.text", sent(ended + event(text(" again"))), HELLO)
    yield WireCase("D5.an error", sent(ended + b"event: error\ndata: too late\n\n"), HELLO)
    yield WireCase("D5.no JSON", sent(ended + b"data: too late\n\n"), HELLO)
    finished = sse(text("Hello"), finish()) + b"data: too late\n\n"
    yield WireCase("D5.no JSON, no mark of the end", sent(finished), HELLO)
    yield WireCase("D5.usage", sent(ended + event(USED)), used)
    yield WireCase("D6", streamed(text("Hel"), finish(), text("lo")), HELLO)


def _words() -> Iterator[WireCase]:
    repeated: dict[str, tuple[tuple[object, ...], FinishReason]] = {
        "repeated": (("stop", "stop"), FinishReason.STOP),
        "null, then a word": ((None, "length"), FinishReason.LENGTH),
        "empty, then a word": (("", "length"), FinishReason.LENGTH),
        "a word, then empty": (("length", "", None), FinishReason.LENGTH),
        "another word": (("stop", "length"), FinishReason.LENGTH),
    }
    for name, (words, reason) in repeated.items():
        reply = streamed(text("Hello"), *map(finish, words))
        yield WireCase(f"D7.{name}", reply, Outcome(text="Hello", finish=reason))
    yield WireCase("D8.stop with calls", streamed(LOOKED, finish("stop")), CALLED)
    yield WireCase("D8.tool_calls without", streamed(text("Hello"), finish("tool_calls")), HELLO)
    half = calls(call(0, "look", '{"at": 1, "fo', "call_1"))
    cut = Outcome(calls=(Call("look", '{"at": 1, "fo', "call_1"),), finish=FinishReason.LENGTH)
    yield WireCase("D9.inside a call", streamed(half, finish("length")), cut)
    short = Outcome(text="Hel", finish=FinishReason.LENGTH)
    yield WireCase("D9.inside text", streamed(text("Hel"), finish("length")), short)
    for word in ("error", "network_error", "abort"):
        failed = Outcome(error="transient", message_contains=(word,), text="Hello")
        yield WireCase(f"D10.{word}", streamed(text("Hello"), finish(word)), failed)
    for unknown in ("banana", "STOP", 7):
        outcome = Outcome(text="Hello", raw_finish=str(unknown))
        yield WireCase(f"D11.{unknown}", streamed(text("Hello"), finish(unknown)), outcome)


def _resets() -> Iterator[WireCase]:
    reset = Outcome(error="transient", text="Hello")
    yield WireCase("D12.in text", broken(sse(text("Hello")), close="reset"), reset)
    yield WireCase("D12.before headers", Raw((), "reset"), Outcome(error="transient"))
    yield WireCase("D12.after the finish reason", broken(sse(text("Hello"), finish()), close="reset"), HELLO)


CASES: tuple[WireCase, ...] = (*_closes(), *_after_the_end(), *_words(), *_resets())

"""C: chunks and content. Choices and deltas that are empty, missing, doubled or of another type."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from psych_runtime.testing.http_stub import Reply
from psych_runtime_contract.model.cases import Outcome, WireCase
from psych_runtime_contract.model.chat import (
    DONE,
    SSE,
    choice,
    delta,
    event,
    failure,
    finish,
    sent,
    sse,
    streamed,
    text,
)
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.usage import Usage

HELLO = Outcome(text="Hello")
USED: dict[str, Any] = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9, "cost": 0.5}
PNG = "data:image/png;base64,iVBORw0KGgo="
NO_CHOICES: dict[str, dict[str, Any]] = {"empty": {"choices": []}, "null": {"choices": None}, "missing": {}}


def _chunks() -> Iterator[WireCase]:
    used = Outcome(text="Hello", usage=Usage(input=7, output=2), cost=Decimal("0.5"))
    failed = Outcome(error="transient", text="Hello", message_contains=("The engine is on fire",))
    for name, chunk in NO_CHOICES.items():
        reply = streamed(text("Hello"), finish(), {**chunk, "usage": USED})
        yield WireCase(f"C1.{name}, usage", reply, used)
        reply = streamed(text("Hello"), {**chunk, **failure("The engine is on fire")}, finish())
        yield WireCase(f"C1.{name}, error", reply, failed)
    no_deltas: dict[str, dict[str, Any]] = {"null": {"delta": None}, "missing": {}}
    for name, fields in no_deltas.items():
        yield WireCase(f"C2.{name}", streamed(text("Hello"), choice(**fields, finish_reason="stop")), HELLO)
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    filters = [{"prompt_index": 0, "content_filter_results": safe}]
    prompt = {"id": "", "choices": [], "prompt_filter_results": filters}
    yield WireCase("C3.prompt", streamed(prompt, text("Hello"), finish()), HELLO)
    results = choice(
        finish_reason=None, content_filter_results=safe, content_filter_offsets={"check_offset": 4}
    )
    yield WireCase("C3.mid-stream", streamed(text("Hel"), results, text("lo"), finish()), HELLO)


def _content() -> Iterator[WireCase]:
    plain = {"null": (None, ""), "empty": ("", ""), "number": (42, "42"), "bool": (True, "true")}
    for name, (content, read) in plain.items():
        reply = streamed(text("Hel"), delta(content=content), text("lo"), finish())
        yield WireCase(f"C4.{name}", reply, Outcome(text=f"Hel{read}lo"))
    said, thought = {"type": "text", "text": "Hello"}, {"type": "thinking", "thinking": "Hm."}
    listed = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    unknown = {"type": "reference", "reference_ids": [1]}
    both = (("reasoning", "Hm."), ("text", "Hello"))
    lists: dict[str, tuple[list[Any], Outcome]] = {
        "text": ([said, {"type": "text", "text": "!"}], Outcome(text="Hello!")),
        "thinking": ([thought], Outcome(reasoning="Hm.")),
        "thinking in parts": ([listed], Outcome(reasoning="Hm.")),
        "mixed": ([listed, said], Outcome(text="Hello", reasoning="Hm.", parts=both)),
        "unknown": ([said, unknown], Outcome(text="Hello", parts=(("text", "Hello"), ("opaque", "content")))),
    }
    for name, (items, outcome) in lists.items():
        yield WireCase(f"C5.{name}", streamed(delta(content=items), finish()), outcome)
    whole = choice(message={"role": "assistant", "content": "Hello"}, finish_reason="stop")
    yield WireCase("C6.in place of deltas", streamed(whole), HELLO)
    more = {"role": "assistant", "content": "Hello", "reasoning_content": "Hm."}
    after = streamed(text("Hel"), text("lo"), choice(message=more, finish_reason="stop"))
    yield WireCase("C6.after deltas", after, Outcome(text="Hello", reasoning="Hm."))


def _choices() -> Iterator[WireCase]:
    other = choice(1, delta={"content": "Goodbye"})
    both = {"choices": [*text("lo")["choices"], *other["choices"]]}
    end = choice(1, delta={}, finish_reason="length")
    yield WireCase("C7.two", streamed(text("Hel"), other, both, end, finish(), end), HELLO)
    yield WireCase("C7.another", streamed(other, end), Outcome(error="transient", code="empty_response"))
    bare: list[dict[str, Any]] = [
        {"choices": [{"delta": {"content": "Hello"}}]},
        {"choices": [{"finish_reason": "stop"}]},
    ]
    yield WireCase("C8", streamed(*bare), HELLO)


def _kinds() -> Iterator[WireCase]:
    refused = Outcome(refusal="I cannot.", finish=FinishReason.REFUSAL)
    yield WireCase("C9.alone", streamed(delta(refusal="I "), delta(refusal="cannot."), finish()), refused)
    parts = (("text", "Hello"), ("refusal", "I cannot."))
    reply = streamed(text("Hello"), delta(refusal="I "), delta(content=None, refusal="cannot."), finish())
    yield WireCase("C9.after text", reply, Outcome(text="Hello", refusal="I cannot.", parts=parts))
    urls = {"data": (PNG, "image/png"), "https": ("https://img.example/a.png",) * 2}
    for name, (url, shown) in urls.items():
        images = [{"type": "image_url", "image_url": {"url": url}, "index": 0}]
        reply = streamed(text("Hello"), delta(images=images), finish())
        outcome = Outcome(text="Hello", parts=(("text", "Hello"), ("image", shown)))
        yield WireCase(f"C10.{name}", reply, outcome)
    strange: dict[str, Any] = {"x": [1, {"y": None}], "padding": "aaaa", "obfuscation": "0"}
    chunk = {
        **strange,
        **choice(**strange, logprobs=None, delta={**strange, "role": None, "content": "Hello"}),
    }
    yield WireCase("C11", streamed(chunk, strange, finish(**strange)), HELLO)
    endless = event({**text("Hello"), "x": "?"}).replace(b'"?"', b"9" * 5_000)
    yield WireCase("C11.a number without end", sent(endless + sse(finish(), DONE)), HELLO, "few")


def _extremes() -> Iterator[WireCase]:
    over = Outcome(error="permanent", code="answer_too_large", leaves=True)
    yield WireCase("C12", _flood, over, "few")
    yield WireCase("C13.NUL", streamed(text("a\0b"), finish()), Outcome(text="a\0b"))
    yield WireCase("C13.six characters", streamed(text(r"a\u0000b"), finish()), Outcome(text=r"a\u0000b"))


def _flood() -> Reply:
    """50 MB of text, a megabyte a packet."""
    return Reply(chunks=(event(text("x" * 1_000_000)),) * 50, headers=SSE)


CASES: tuple[WireCase, ...] = (*_chunks(), *_content(), *_choices(), *_kinds(), *_extremes())

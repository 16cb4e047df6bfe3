"""R: reasoning. The fields in which models think aloud, and what goes back into them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psych_runtime.testing.http_stub import Reply
from psych_runtime_contract.model.cases import ABSENT, Call, Outcome, Replayed, WireCase
from psych_runtime_contract.model.chat import Payload, call, calls, delta, finish, streamed, text
from psych_runtime_contract.model.corpus.tool_calls import OURS, written
from psych_runtime_core.messages import FinishReason

HELLO = Outcome(text="Hello", parts=(("text", "Hello"),))
THOUGHT = Outcome(text="Hello", reasoning="Hm.")
LOOK = Call("look", "{}", "a")
LOOKED = calls(call(0, "look", "{}", "a"))


def answering(*chunks: Payload) -> Reply:
    """These chunks, then an answer."""
    return streamed(*chunks, text("Hello"), finish())


def looking(*chunks: Payload) -> Reply:
    """These chunks, then a call: reasoning goes back with it."""
    return streamed(*chunks, LOOKED, finish("tool_calls"))


def looked(shown: str, /, **sent_back: Any) -> Outcome:
    """A call after the reasoning `shown`, with the fields that go back to its source and to no other."""
    absent: Replayed = dict.fromkeys(sent_back, ABSENT)
    return Outcome(
        reasoning=shown,
        calls=(LOOK,),
        finish=FinishReason.TOOL_CALLS,
        replay=sent_back,
        replay_elsewhere=absent,
    )


def _text() -> Iterator[WireCase]:
    for field in ("reasoning_content", "reasoning"):
        yield WireCase(f"R1.{field}", answering(delta(**{field: "H"}), delta(**{field: "m."})), THOUGHT)
    both = (delta(reasoning_content=piece, reasoning=piece) for piece in ("H", "m."))
    yield WireCase("R1.both", answering(*both), THOUGHT)
    part = {"type": "text", "text": "Hm."}
    texts: dict[str, object] = {
        "an object": {"text": "Hm."},
        "an object of content": {"content": "Hm."},
        "a list": [part],
        "an object with a list": {"summary": [part]},
    }
    for name, value in texts.items():
        yield WireCase(f"R2.{name}", answering(delta(reasoning=value)), THOUGHT)
    sealed = Outcome(text="Hello", parts=(("opaque", "reasoning"), ("text", "Hello")))
    closed: dict[str, object] = {"an object": {"sealed": "x"}, "a list": [{"sealed": "x"}]}
    for name, value in closed.items():
        yield WireCase(f"R2.{name} without text", answering(delta(reasoning=value)), sealed)


def _details() -> Iterator[WireCase]:
    said = {"type": "reasoning.text", "index": 0}
    pieces: list[dict[str, Any]] = [{**said, "text": "H"}, {**said, "text": "m."}]
    signature = {**said, "signature": "c2ln"}
    short = {"type": "reasoning.summary", "index": 1}
    shorts: list[dict[str, Any]] = [{**short, "summary": "In "}, {**short, "summary": "short."}]
    sealed = {"type": "reasoning.encrypted", "index": 2, "id": "rs_1", "format": "v1"}
    seals: list[dict[str, Any]] = [{**sealed, "data": "e3"}, {**sealed, "data": "0="}]
    whole = {**said, "text": "Hm."}
    signed, summed, kept = (
        {**whole, "signature": "c2ln"},
        {**short, "summary": "In short."},
        {**sealed, "data": "e30="},
    )
    rows: dict[str, tuple[list[dict[str, Any]], str, list[dict[str, Any]]]] = {
        "text": (pieces, "Hm.", [whole]),
        "summary": (shorts, "In short.", [summed]),
        "encrypted": (seals, "", [kept]),
        "signature": ([*pieces, signature], "Hm.", [signed]),
        "all": ([*pieces, signature, *shorts, *seals], "Hm.In short.", [signed, summed, kept]),
        "interleaved": (
            [pieces[0], seals[0], pieces[1], seals[1], signature],
            "Hm.",
            [signed, kept],
        ),
    }
    for name, (sent, shown, items) in rows.items():
        reply = looking(*(delta(reasoning_details=[item]) for item in sent))
        yield WireCase(f"R3.{name}", reply, looked(shown, reasoning_details=items))
    bare = [{key: value for key, value in item.items() if key != "index"} for item in (*pieces, signature)]
    joined = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln"}
    reply = looking(*(delta(reasoning_details=[item]) for item in bare))
    yield WireCase("R3.without index", reply, looked("Hm.", reasoning_details=[joined]))
    beside = (delta(reasoning=item["text"], reasoning_details=[item]) for item in pieces)
    yield WireCase("R3.beside reasoning", looking(*beside), looked("Hm.", reasoning_details=[whole]))


def _blocks() -> Iterator[WireCase]:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    pieces = [
        {"type": "thinking", "thinking": "H"},
        {"type": "thinking", "thinking": "m."},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
    ]
    outcome = looked("Hm.", thinking_blocks=[thought])
    yield WireCase("R4.whole", looking(delta(thinking_blocks=[thought])), outcome)
    yield WireCase("R4.in pieces", looking(*(delta(thinking_blocks=[one]) for one in pieces)), outcome)
    beside = (delta(reasoning_content=one["thinking"], thinking_blocks=[one]) for one in pieces)
    yield WireCase("R4.beside reasoning_content", looking(*beside), outcome)
    redacted = {"type": "redacted_thinking", "data": "e30="}
    reply = looking(delta(thinking_blocks=[redacted]))
    yield WireCase("R4.redacted", reply, looked("", thinking_blocks=[redacted]))
    second = {"type": "thinking", "thinking": "Ah.", "signature": "Mm5k"}
    two = looking(delta(thinking_blocks=[thought]), delta(thinking_blocks=[second]))
    yield WireCase("R4.two blocks", two, looked("Hm.Ah.", thinking_blocks=[thought, second]))


def _others() -> Iterator[WireCase]:
    for name, nothing in (("null", None), ("empty", "")):
        empty = {"reasoning_content": nothing, "reasoning": nothing}
        pieces = (delta(content=piece, **empty) for piece in ("Hel", "lo"))
        yield WireCase(f"R5.{name}", streamed(*pieces, finish()), HELLO)
    alone = Outcome(reasoning="Hm.", parts=(("reasoning", "Hm."),))
    yield WireCase("R6", streamed(delta(reasoning_content="Hm."), finish()), alone)
    turn = looking(delta(reasoning_content="Hm."))
    yield WireCase("R7.tool turn", turn, looked("Hm.", reasoning_content="Hm."))
    turn = looking(delta(reasoning="Hm."))
    yield WireCase("R7.tool turn, in its own field", turn, looked("Hm.", reasoning="Hm."))
    tagged = "<think>Hm.</think>\n\nHello"
    pieces = (text(piece) for piece in ("<thi", "nk>Hm.</", "think>\n\nHello"))
    yield WireCase("R8", streamed(*pieces, finish()), Outcome(text=tagged, parts=(("text", tagged),)))
    signed = "call_" + "c2ln" * 749
    outcome = Outcome(
        calls=(Call("look", "{}", signed),),
        finish=FinishReason.TOOL_CALLS,
        replay={"tool_calls": [written("look", "{}", signed)]},
        replay_elsewhere={"tool_calls": [written("look", "{}", OURS)]},
    )
    yield WireCase("R9", streamed(calls(call(0, "look", "{}", signed)), finish("tool_calls")), outcome)


CASES: tuple[WireCase, ...] = (*_text(), *_details(), *_blocks(), *_others())

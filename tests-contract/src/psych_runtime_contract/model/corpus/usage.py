"""U: usage and cost. Where providers put their figures, which of them lie within which, and exact money."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from psych_runtime.testing.http_stub import Reply
from psych_runtime_contract.model.cases import Outcome, WireCase
from psych_runtime_contract.model.chat import SSE, choice, encoded, finish, streamed, text
from psych_runtime_core.usage import Usage

Figures = Mapping[str, Any]

USED: Figures = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
ZEROS: Figures = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
# A prompt of 100, an answer of 10.
BIG: Figures = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
HELLO = Outcome(text="Hello")
COUNTED = Outcome(text="Hello", usage=Usage(input=7, output=2))


def answering(usage: object, **beside: Any) -> Reply:
    """An answer with its usage on the last chunk; `beside` are further fields of that."""
    return streamed(text("Hello"), finish(), {"choices": [], "usage": usage, **beside})


def counted(input: int, output: int, **details: int) -> Outcome:
    """An answer with this usage."""
    return Outcome(text="Hello", usage=Usage(input=input, output=output, **details))


# --- where figures stand -------------------------------------------------------------------------------


def _places() -> Iterator[WireCase]:
    yield WireCase("U1.on the last chunk", answering(USED), COUNTED)
    yield WireCase("U1.on the finish chunk", streamed(text("Hello"), finish(usage=USED)), COUNTED)
    beside = streamed(text("Hel"), {**text("lo"), "usage": USED}, finish())
    yield WireCase("U1.beside content", beside, COUNTED)
    growing = [{**USED, "completion_tokens": n, "total_tokens": 7 + n} for n in (1, 2)]
    several: dict[str, tuple[object, ...]] = {
        "cumulative": (*growing, USED),
        "zeros, then totals": (ZEROS, ZEROS, USED),
        "totals, then zeros": (USED, ZEROS, ZEROS),
        "totals, then null": (USED, None, None),
    }
    for name, figures in several.items():
        pieces = zip(("Hel", "l", "o"), figures, strict=True)
        chunks = ({**text(piece), "usage": one} for piece, one in pieces)
        yield WireCase(f"U2.{name}", streamed(*chunks, finish()), COUNTED)
    nothing: Figures = {"choices": [], "usage": {**ZEROS, "cost": 0}}
    costly = streamed(text("Hello"), finish(usage={**USED, "cost": 0.5}), nothing)
    yield WireCase("U2.totals and their cost, then zeros", costly, paid(HALF))
    yield WireCase("U3.none", streamed(text("Hello"), finish()), HELLO)
    yield WireCase("U3.null", answering(None), HELLO)
    yield WireCase("U3.all zeros", answering(ZEROS), HELLO)
    groq = streamed(text("Hello"), {**finish(), "x_groq": {"id": "req_1", "usage": USED}})
    yield WireCase("U4.x_groq", groq, COUNTED)
    in_choice = streamed(text("Hello"), choice(delta={}, finish_reason="stop", usage=USED))
    yield WireCase("U4.in the choice", in_choice, COUNTED)


# --- which lie within which ----------------------------------------------------------------------------


def _cache() -> Iterator[WireCase]:
    read, both = {"cached_tokens": 60}, {"cached_tokens": 60, "cache_write_tokens": 30}
    yield WireCase("U5.read", _detailed(read), counted(40, 10, cache_read=60))
    yield WireCase("U5.read and written", _detailed(both), counted(10, 10, cache_read=60, cache_write=30))
    split = {"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40}
    yield WireCase("U6.hit and miss", answering({**BIG, **split}), counted(40, 10, cache_read=60))
    twice = answering({**BIG, **split, "prompt_tokens_details": read})
    yield WireCase("U6.beside a detail", twice, counted(40, 10, cache_read=60))
    hit, made = {"cache_read_input_tokens": 60}, {"cache_creation_input_tokens": 30}
    lifetimes = {"cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}}
    yield WireCase("U7.read", answering({**BIG, **hit}), counted(40, 10, cache_read=60))
    yield WireCase("U7.written", answering({**BIG, **made}), counted(70, 10, cache_write=30))
    hour = counted(10, 10, cache_read=60, cache_write=30, cache_write_1h=20)
    yield WireCase("U7.for an hour", answering({**BIG, **hit, **made, **lifetimes}), hour)
    zero = {"prompt_tokens_details": {"cached_tokens": 0}}
    yield WireCase("U7.beside a zero", answering({**BIG, **hit, **made, **lifetimes, **zero}), hour)


def _excluded() -> Iterator[WireCase]:
    small = {"prompt_tokens": 10, "completion_tokens": 5}
    outer = {"cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}
    details = {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}
    apart = counted(10, 5, cache_read=60, cache_write=30)
    for name, cache in (("fields", outer), ("details", details)):
        yield WireCase(f"U8.by the total, {name}", answering({**small, **cache, "total_tokens": 105}), apart)
        yield WireCase(f"U8.over the prompt, {name}", answering({**small, **cache}), apart)
    # Here the prompt could hold the cache, and only the total says that it does not.
    large = {**BIG, "total_tokens": 200, **outer}
    yield WireCase("U8.by the total alone", answering(large), counted(100, 10, cache_read=60, cache_write=30))
    newer = {"input_tokens": 100, "output_tokens": 10}
    yield WireCase("U13.names", answering(newer), counted(100, 10))
    inside = {**newer, "input_tokens_details": {"cached_tokens": 60}}
    yield WireCase("U13.a detail lies inside", answering(inside), counted(40, 10, cache_read=60))
    outside = counted(100, 10, cache_read=60, cache_write=30)
    yield WireCase("U13.fields lie outside", answering({**newer, **outer}), outside)


def _reasoning() -> Iterator[WireCase]:
    thought = {"completion_tokens_details": {"reasoning_tokens": 20}}
    short = {"prompt_tokens": 10, "completion_tokens": 5}
    beside = {**short, **thought, "total_tokens": 35}
    yield WireCase("U9.reasoning beside the completion", answering(beside), counted(10, 25, reasoning=20))
    yield WireCase(
        "U9.a rest that has no name", answering({**short, "total_tokens": 40}), counted(10, 30, reasoning=25)
    )
    more = {**short, **thought, "total_tokens": 45}
    yield WireCase("U9.a rest beyond the reasoning", answering(more), counted(10, 35, reasoning=30))
    inside = {"prompt_tokens": 10, "completion_tokens": 25, **thought, "total_tokens": 35}
    yield WireCase("U10", answering(inside), counted(10, 25, reasoning=20))


def _detailed(details: object, **figures: Any) -> Reply:
    return answering({**BIG, "prompt_tokens_details": details, **figures})


# --- figures that are none -----------------------------------------------------------------------------

UNKNOWN: dict[str, object] = {
    "negative": -7,
    "a fraction": 1.5,
    "bool": True,
    "a word": "n/a",
    "2^70": 2**70,
}


def _figures() -> Iterator[WireCase]:
    yield WireCase("U11.digits", answering({**USED, "prompt_tokens": "7"}), COUNTED)
    whole = {"prompt_tokens": 7, "completion_tokens": 3.0, "total_tokens": 10.0}
    yield WireCase("U11.a whole float", answering(whole), counted(7, 3))
    for name, value in UNKNOWN.items():
        details = {"completion_tokens_details": {"reasoning_tokens": value}}
        yield WireCase(f"U11.{name}, a detail", answering({**USED, **details}), COUNTED)
        for key in ("prompt_tokens", "completion_tokens"):
            yield WireCase(f"U11.{name}, {key}", answering({**USED, key: value}), HELLO)
    for name, nothing in (("null", None), ("a list", [1])):
        empty = {"prompt_tokens_details": nothing, "completion_tokens_details": nothing}
        yield WireCase(f"U12.{name}", answering({**USED, **empty}), COUNTED)


# --- money ---------------------------------------------------------------------------------------------

HALF = Decimal("0.5")


def paid(amount: Decimal | str | None) -> Outcome:
    """An answer with its usage, and what the provider says that it cost."""
    cost = None if amount is None else Decimal(amount)
    return Outcome(text="Hello", usage=Usage(input=7, output=2), cost=cost)


def _costs() -> Iterator[WireCase]:
    in_usage: dict[str, Figures] = {
        "usage.cost, a number": {"cost": 0.5},
        "usage.cost, text": {"cost": "0.5"},
        "usage.cost, an object": {"cost": {"input_cost": 0.2, "output_cost": 0.3, "total_cost": 0.5}},
        "usage.cost_in_usd_ticks": {"cost_in_usd_ticks": 5_000_000_000},
    }
    for name, stated in in_usage.items():
        yield WireCase(f"U14.{name}", answering({**USED, **stated}), paid(HALF))
    yield WireCase("U14.one tick", answering({**USED, "cost_in_usd_ticks": 1}), paid("1e-10"))
    yield WireCase("U14.cost", answering(USED, cost=0.5), paid(HALF))
    hidden = answering(USED, _hidden_params={"response_cost": 0.5})
    yield WireCase("U14._hidden_params.response_cost", hidden, paid(HALF))
    headers = {**SSE, "x-litellm-response-cost": "0.5"}
    header = streamed(text("Hello"), finish(usage=USED), headers=headers)
    yield WireCase("U14.a header", header, paid(HALF))
    for amount in ("1.05e-04", "0.00007000000000000001", "7.5e-12", "0", "0.0"):
        yield WireCase(f"U15.{amount}", _stating(amount), paid(amount))
    for amount in ("NaN", '"NaN"', "-0.5", "true", '"free"', "0." + "1" * 41, "1" * 41):
        yield WireCase(f"U16.{amount}", _stating(amount), paid(None))


def _stating(amount: str) -> Reply:
    """An answer whose cost is spelled just so."""
    spelled = encoded({"choices": [], "usage": {**USED, "cost": "?"}}).replace(b'"?"', amount.encode())
    return streamed(text("Hello"), finish(), spelled)


CASES: tuple[WireCase, ...] = (
    *_places(),
    *_cache(),
    *_excluded(),
    *_reasoning(),
    *_figures(),
    *_costs(),
)

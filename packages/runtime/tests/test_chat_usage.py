"""Usage and cost in the figures of every provider: read exactly, or not known."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.chat_chunks import NO_CHOICES, Chunk, choice, finish, money, read, text
from psych_runtime.model.chat.reply.usage import usage_of
from psych_runtime.model.numbers import amount_of, count_of
from psych_runtime_core.usage import Cost, Usage

SEVEN = {"prompt_tokens": 7, "completion_tokens": 2}
ZERO = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
USED = Usage(input=7, output=2)


def used(**figures: object) -> Chunk:
    return {**NO_CHOICES, "usage": {**SEVEN, **figures}}


@pytest.mark.parametrize(
    ("chunks", "usage"),
    [
        pytest.param([finish(), used()], USED, id="U1 on the last chunk"),
        pytest.param([finish(usage=SEVEN)], USED, id="U1 on the finish chunk"),
        pytest.param([{**text("x"), "usage": SEVEN}], USED, id="U1 beside content"),
        pytest.param([used(completion_tokens=1), used()], USED, id="U2 cumulative"),
        pytest.param([{"usage": ZERO}, used()], USED, id="U2 zeros, then totals"),
        pytest.param([used(), {"usage": ZERO}], USED, id="U2 totals, then zeros"),
        pytest.param([used(), {"usage": None}], USED, id="U2 totals, then null"),
        pytest.param([], None, id="U3 none"),
        pytest.param([{"usage": None}], None, id="U3 null"),
        pytest.param([{"usage": ZERO}], None, id="U3 all zeros"),
        pytest.param([{**NO_CHOICES, "x_groq": {"id": "r", "usage": SEVEN}}], USED, id="U4 x_groq"),
        pytest.param([choice(delta={}, usage=SEVEN)], USED, id="U4 in a choice"),
        pytest.param([{"usage": ZERO, "x_groq": {"usage": SEVEN}}], USED, id="U4 beside zeros"),
    ],
)
def test_usage_is_found_where_it_stands(chunks: list[Chunk], usage: Usage | None) -> None:
    assert read(text("Hello"), *chunks, finish()).end.usage == usage


def prompt(cached: int, **more: object) -> dict[str, object]:
    return {"prompt_tokens_details": {"cached_tokens": cached, **more}}


def thought(tokens: int) -> dict[str, object]:
    return {"completion_tokens_details": {"reasoning_tokens": tokens}}


FIGURES = [
    pytest.param(prompt(4), Usage(input=3, output=2, cache_read=4), id="U5 read"),
    pytest.param(
        prompt(4, cache_write_tokens=2), Usage(input=1, output=2, cache_read=4, cache_write=2), id="U5 write"
    ),
    pytest.param(
        {"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 3},
        Usage(input=3, output=2, cache_read=4),
        id="U6",
    ),
    pytest.param(
        {"prompt_tokens": None, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 3},
        Usage(input=3, output=2, cache_read=4),
        id="U6 without a prompt",
    ),
    pytest.param(
        {"prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": 0},
        Usage(input=7, output=2, cache_read=0),
        id="U6 zeros",
    ),
    pytest.param(
        {
            **prompt(0),
            "prompt_tokens": 20,
            "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 5,
            "cache_creation": {"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 2},
        },
        Usage(input=11, output=2, cache_read=4, cache_write=5, cache_write_1h=3),
        id="U7",
    ),
    pytest.param(
        {"cache_creation": {"ephemeral_1h_input_tokens": 3}},
        Usage(input=4, output=2, cache_write=3, cache_write_1h=3),
        id="U7 an hour alone",
    ),
    pytest.param(
        {"cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "total_tokens": 14},
        Usage(input=7, output=2, cache_read=4, cache_write=1),
        id="U8 the total adds them",
    ),
    pytest.param(
        {"cache_read_input_tokens": 400, "cache_creation_input_tokens": 1},
        Usage(input=7, output=2, cache_read=400, cache_write=1),
        id="U8 more than the prompt",
    ),
    pytest.param(
        {"total_tokens": 14, **thought(5)},
        Usage(input=7, output=7, reasoning=5),
        id="U9 the total adds it",
    ),
    pytest.param({"total_tokens": 19}, Usage(input=7, output=12, reasoning=10), id="U9 the total holds more"),
    pytest.param(
        {**prompt(4), "total_tokens": 19},
        Usage(input=3, output=12, cache_read=4, reasoning=10),
        id="U9 the total holds more, with a cache",
    ),
    pytest.param(
        {"cache_read_input_tokens": 4, "total_tokens": 18, **thought(5)},
        Usage(input=7, output=7, cache_read=4, reasoning=5),
        id="U8 and U9 at once",
    ),
    pytest.param(
        {"total_tokens": 9, **thought(2)},
        Usage(input=7, output=2, reasoning=2),
        id="U10",
    ),
    pytest.param(
        {**thought(5)},
        Usage(input=7, output=7, reasoning=5),
        id="reasoning larger than the completion, no total",
    ),
    pytest.param(
        {"total_tokens": 9, **thought(5)},
        Usage(input=7, output=2),
        id="reasoning that fits nowhere",
    ),
    pytest.param({"total_tokens": 3}, USED, id="a total less than its parts"),
    pytest.param(
        {"total_tokens": 3, **thought(5)},
        Usage(input=7, output=7, reasoning=5),
        id="a total less than its parts says nothing of reasoning",
    ),
    pytest.param({"prompt_tokens": "7"}, USED, id="U11 digits"),
    pytest.param({"completion_tokens": Decimal("3.0")}, Usage(input=7, output=3), id="U11 3.0"),
    pytest.param({**prompt(-1), "reasoning_tokens": Decimal("1.5")}, USED, id="U11 -1, 1.5"),
    pytest.param({"cache_read_input_tokens": True, "total_tokens": 2**70}, USED, id="U11 bool, 2^70"),
    pytest.param({"prompt_tokens": "n/a"}, None, id="U11 no prompt"),
    pytest.param({"completion_tokens": Decimal("NaN")}, None, id="U11 no completion"),
    pytest.param({"prompt_tokens_details": None, "completion_tokens_details": [1]}, USED, id="U12"),
    pytest.param(
        {**prompt(0, audio_tokens=3), "completion_tokens_details": {"audio_tokens": 1}},
        Usage(input=7, output=2, cache_read=0, input_audio=3, output_audio=1),
        id="sound",
    ),
]


@pytest.mark.parametrize(("figures", "usage"), FIGURES)
def test_figures_are_told_apart(figures: dict[str, object], usage: Usage | None) -> None:
    assert usage_of({**SEVEN, **figures}) == usage


@pytest.mark.parametrize(
    ("figures", "usage"),
    [
        pytest.param({}, USED, id="U13 names"),
        pytest.param(
            {"input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 1}},
            Usage(input=3, output=2, cache_read=4, reasoning=1),
            id="U13 inside",
        ),
        pytest.param(
            {"cache_read_input_tokens": 4, "cache_creation_input_tokens": 3},
            Usage(input=7, output=2, cache_read=4, cache_write=3),
            id="U13 outside",
        ),
        pytest.param(
            {"cache_read_input_tokens": 4, "total_tokens": 13},
            Usage(input=7, output=2, cache_read=4),
            id="U13 outside, and in the total",
        ),
        pytest.param(
            {**ZERO, "cache_read_input_tokens": 4},
            Usage(input=7, output=2, cache_read=4),
            id="U13 beside zeros of the other names",
        ),
    ],
)
def test_figures_under_the_other_names(figures: dict[str, object], usage: Usage) -> None:
    assert usage_of({"input_tokens": 7, "output_tokens": 2, **figures}) == usage


@pytest.mark.parametrize("figures", [None, [], {}, {"prompt_tokens": 1}, "7"])
def test_what_states_no_usage_is_none(figures: object) -> None:
    assert usage_of(figures) is None


COUNTS = st.none() | st.integers(-5, 50) | st.booleans() | st.text(max_size=3) | st.decimals()
NAMES = (
    *("prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"),
    *("prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "reasoning_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
DETAILS = (
    *("cached_tokens", "cache_write_tokens", "audio_tokens"),
    *("reasoning_tokens", "ephemeral_1h_input_tokens"),
)
HOLDERS = ("prompt_tokens_details", "completion_tokens_details", "cache_creation", "output_tokens_details")


@given(
    st.dictionaries(st.sampled_from(NAMES), COUNTS),
    st.dictionaries(st.sampled_from(HOLDERS), st.dictionaries(st.sampled_from(DETAILS), COUNTS) | COUNTS),
)
def test_any_figures_give_a_usage_that_holds_its_details_or_none(
    figures: dict[str, Any], details: dict[str, Any]
) -> None:
    usage = usage_of({**figures, **details})
    if usage is not None:
        assert (usage.reasoning or 0) <= usage.output
        assert (usage.cache_write_1h or 0) <= (usage.cache_write or 0)


# --- cost ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunk", "amount"),
    [
        pytest.param(used(cost=Decimal("0.0125")), "0.0125", id="U14 usage.cost"),
        pytest.param(used(cost="0.0125"), "0.0125", id="U14 text"),
        pytest.param(used(cost={"total_cost": Decimal("0.5")}), "0.5", id="U14 total_cost"),
        pytest.param({**NO_CHOICES, "cost": Decimal("0.5")}, "0.5", id="U14 cost"),
        pytest.param({"_hidden_params": {"response_cost": Decimal("0.5")}}, "0.5", id="U14 response_cost"),
        pytest.param(used(cost_in_usd_ticks=123_456), "0.0000123456", id="U14 ticks"),
        pytest.param(used(cost=Decimal("1.05e-04")), "0.000105", id="U15 exponent"),
        pytest.param(used(cost=Decimal("0.00007000000000000001")), "0.00007000000000000001", id="U15 digits"),
        pytest.param(used(cost=7.5e-12), "0.0000000000075", id="U15 float"),
        pytest.param(used(cost=0), "0", id="U15 zero"),
        pytest.param(used(cost=Decimal("NaN")), None, id="U16 NaN"),
        pytest.param(used(cost=Decimal(-1)), None, id="U16 negative"),
        pytest.param(used(cost=True), None, id="U16 bool"),
        pytest.param(used(cost="free"), None, id="U16 words"),
        pytest.param(used(cost=Decimal("0." + "1" * 41)), None, id="U16 41 digits"),
        pytest.param(used(cost=Decimal("1e-400")), None, id="U16 digits in an exponent"),
        pytest.param(used(cost=Decimal("0." + "1" * 40)), "0." + "1" * 40, id="U16 40 digits"),
        pytest.param(used(cost=Decimal("7." + "1" * 40)), "7." + "1" * 40, id="U16 40 behind the point"),
    ],
)
def test_a_cost_is_exact_or_not_known(chunk: Chunk, amount: str | None) -> None:
    told = read(text("Hello"), chunk, finish())
    assert money(told) == (None if amount is None else Decimal(amount))
    assert told.message.text == "Hello"


@pytest.mark.parametrize("zero", ["0e20", "0E-41", "0.00", "0e-9999", "0e9999"])
def test_a_cost_of_zero_is_zero_however_it_is_written(zero: str) -> None:
    for stated in (used(cost=Decimal(zero)), used(cost=zero), used(cost_in_usd_ticks=Decimal(zero))):
        assert str(money(read(text("Hello"), stated, finish()))) == "0"


def test_the_last_cost_counts_and_the_header_where_there_is_none() -> None:
    headers = {"X-LiteLLM-Response-Cost": "0.25"}
    assert money(read(text("x"), used(cost=Decimal(1)), used(cost=Decimal(2)), used(cost=None))) == 2
    assert money(read(text("x"), used(cost=Decimal(1)), headers=headers)) == 1
    told = read(text("x"), used(), headers=headers)
    assert told.end.cost == Cost(amount=Decimal("0.25"), model="large", source="provider")
    assert money(read(text("x"), used(), headers={"x-litellm-response-cost": "None"})) is None


@given(st.lists(st.decimals(min_value=0, allow_nan=False), min_size=1, max_size=30))
def test_costs_that_are_taken_add_up_exactly(amounts: list[Decimal]) -> None:
    costs = [Cost(amount=amount) for amount in map(amount_of, amounts) if amount is not None]
    total = Cost(amount=Decimal(0))
    for cost in costs:
        total += cost
    assert Fraction(total.amount) == sum(Fraction(cost.amount) for cost in costs)


def test_the_largest_and_the_smallest_cost_have_an_exact_sum() -> None:
    largest, smallest = amount_of("9" * 14), amount_of(Decimal("1e-40"))
    assert largest is not None
    assert smallest is not None
    total = Cost(amount=largest) + Cost(amount=smallest)
    assert Fraction(total.amount) == Fraction(largest) + Fraction(smallest)
    assert amount_of("9" * 15) is None


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | st.text())
def test_any_value_is_a_figure_or_none(value: object) -> None:
    count, amount = count_of(value), amount_of(value)
    assert count is None or 0 <= count < 2**53
    assert amount is None or (amount.is_finite() and amount >= 0)


@pytest.mark.parametrize("value", ["1_000", "٣", "", "+1", "1.", ".5", "0x1", "Infinity", "1e99999"])
def test_what_is_written_in_another_way_is_no_amount(value: str) -> None:
    assert amount_of(value) is None

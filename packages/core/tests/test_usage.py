"""Tokens and money: what adds up, exactly, and what does not."""

from __future__ import annotations

from decimal import Decimal, Inexact
from fractions import Fraction
from functools import reduce
from itertools import repeat
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from psych_runtime_core.usage import Cost, Usage, summable

FULL = Usage(
    input=1,
    output=20,
    cache_read=300,
    cache_write=4_000,
    cache_write_1h=50,
    reasoning=6,
    input_audio=7,
    output_audio=8,
)
DETAILS = ["cache_read", "cache_write", "cache_write_1h", "reasoning", "input_audio", "output_audio"]

tokens = st.integers(0, 10**9)
usages = st.builds(Usage, input=tokens, output=tokens, **{name: st.none() | tokens for name in DETAILS})
# What a million of which fits MONEY: 14 digits before the point, 40 behind it.
amounts = st.decimals(0, 10**14 - 1, allow_nan=False, allow_infinity=False, places=40)


def money(amount: str, **fields: Any) -> Cost:
    return Cost(amount=Decimal(amount), **fields)


# --- usage -----------------------------------------------------------------------------------------------


def test_the_prompt_is_the_input_and_what_the_cache_read_and_wrote_in_all_its_lifetimes() -> None:
    assert FULL.prompt == 1 + 300 + 4_000


def test_the_total_is_prompt_and_output_with_reasoning_and_audio_inside() -> None:
    assert FULL.total == FULL.prompt + 20


def test_what_a_provider_did_not_say_is_not_in_the_prompt() -> None:
    assert (Usage(input=3, output=4).prompt, Usage(input=3, output=4).total) == (3, 7)


def test_usage_adds_count_by_count() -> None:
    twice = Usage(**{name: 2 * count for name, count in FULL.model_dump().items()})
    assert twice == FULL + FULL


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        pytest.param(None, None, None, id="both silent"),
        pytest.param(None, 5, 5, id="a lower bound"),
        pytest.param(5, None, 5, id="a lower bound, the other way"),
        pytest.param(0, None, 0, id="a zero that was said"),
        pytest.param(2, 5, 7, id="both said"),
    ],
)
def test_a_detail_is_unknown_only_when_nobody_said_it(
    detail: str, one: int | None, other: int | None, both: int | None
) -> None:
    added = Usage(input=1, output=1, **{detail: one}) + Usage(input=1, output=1, **{detail: other})
    assert added == Usage(input=2, output=2, **{detail: both})


@given(usages, usages, usages)
def test_usage_adds_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert (a + b).total == a.total + b.total


@given(usages)
def test_usage_comes_back_from_its_json_and_has_a_hash(usage: Usage) -> None:
    again = Usage.model_validate_json(usage.model_dump_json())
    assert (again, hash(again)) == (usage, hash(usage))


@pytest.mark.parametrize("field", ["input", "output", *DETAILS])
@pytest.mark.parametrize("count", [pytest.param(-1, id="negative"), pytest.param(1.5, id="broken")])
def test_a_count_that_is_none_is_refused(field: str, count: float) -> None:
    with pytest.raises(ValidationError):
        Usage.model_validate({"input": 0, "output": 0, field: count})


def test_usage_without_input_or_output_is_no_usage() -> None:
    with pytest.raises(ValidationError):
        Usage.model_validate({"output": 1})
    with pytest.raises(ValidationError):
        Usage.model_validate({"input": 1})


@pytest.mark.parametrize(
    ("figure", "field"),
    [pytest.param(FULL, "input", id="usage"), pytest.param(money("1"), "amount", id="cost")],
)
def test_a_figure_cannot_change(figure: Usage | Cost, field: str) -> None:
    with pytest.raises(ValidationError):
        setattr(figure, field, 2)


# --- cost ------------------------------------------------------------------------------------------------


def test_a_million_small_costs_add_up_exactly() -> None:
    total = reduce(add, repeat(money("0.0000003"), 10**6))
    assert total.amount == Decimal("0.3")


@given(st.lists(amounts, min_size=1, max_size=20))
def test_no_sum_of_costs_is_rounded(parts: list[Decimal]) -> None:
    total = reduce(add, (Cost(amount=part) for part in parts))
    assert Fraction(total.amount) == sum(map(Fraction, parts))


def test_a_sum_that_cannot_be_exact_is_an_error_and_not_rounded() -> None:
    with pytest.raises(Inexact):
        add(money("1E+40"), money("1E-40"))


@pytest.mark.parametrize(
    ("amount", "held"),
    [
        pytest.param("0.0125", "0.0125", id="a price"),
        pytest.param(
            "9" * 14 + "." + "9" * 40, "9" * 14 + "." + "9" * 40, id="as many digits as there may be"
        ),
        pytest.param("1" + "0" * 14, None, id="a digit more before the point"),
        pytest.param("1E+14", None, id="the same with an exponent"),
        pytest.param("1E-41", None, id="a digit more behind it"),
        pytest.param("0E+9999", "0", id="nothing, written large"),
        pytest.param("0E-9999", "0", id="nothing, written small"),
        pytest.param("NaN", None, id="no number"),
        pytest.param("Infinity", None, id="no end"),
    ],
)
def test_an_amount_is_summable_or_it_is_none(amount: str, held: str | None) -> None:
    found = summable(Decimal(amount))
    assert (None if found is None else str(found)) == held


def test_two_currencies_do_not_add() -> None:
    with pytest.raises(ValueError, match="EUR and USD cannot be added"):
        add(money("1", currency="EUR"), money("1"))


def test_the_parts_add_each_apart() -> None:
    parts = {
        "input_amount": Decimal("0.1"),
        "output_amount": Decimal("0.02"),
        "cache_read_amount": Decimal("0.003"),
        "cache_write_amount": Decimal("0.0004"),
    }
    one = money("0.1234", currency="EUR", model="m", catalog="prices 1", **parts)
    both = {name: 2 * amount for name, amount in parts.items()}
    assert one + one == money("0.2468", currency="EUR", model="m", catalog="prices 1", **both)


@pytest.mark.parametrize("part", ["input_amount", "output_amount", "cache_read_amount", "cache_write_amount"])
def test_a_part_of_a_sum_is_known_only_when_it_is_known_of_both(part: str) -> None:
    told = money("1", **{part: Decimal(1)})
    assert (told + money("1"), money("1") + told) == (money("2"), money("2"))


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("computed", "computed", "computed"),
        ("provider", "provider", "provider"),
        ("computed", "provider", "mixed"),
        ("provider", "computed", "mixed"),
        ("mixed", "provider", "mixed"),
        ("mixed", "mixed", "mixed"),
    ],
)
def test_a_sum_says_who_worked_it_out(one: str, other: str, both: str) -> None:
    assert (money("1", source=one) + money("1", source=other)).source == both


@pytest.mark.parametrize("field", ["model", "catalog"])
def test_a_sum_over_two_of_a_kind_names_none_of_them(field: str) -> None:
    a, b = money("1", **{field: "a"}), money("1", **{field: "b"})
    assert (a + a, a + b, a + money("1")) == (money("2", **{field: "a"}), money("2"), money("2"))


@given(amounts)
def test_a_cost_comes_back_from_its_json_digit_by_digit(amount: Decimal) -> None:
    again = Cost.model_validate_json(Cost(amount=amount).model_dump_json())
    assert (str(again.amount), hash(again)) == (str(amount), hash(Cost(amount=amount)))


@pytest.mark.parametrize(
    "amount", ["-0.01", "NaN", "sNaN", "Infinity", "-Infinity", "free", "", True, None], ids=repr
)
def test_what_is_no_amount_is_refused(amount: object) -> None:
    with pytest.raises(ValidationError):
        Cost.model_validate({"amount": amount})


@pytest.mark.parametrize("currency", ["usd", "US", "USDT", "U$D", "USD\n", "", "ÜSD"], ids=repr)
def test_a_currency_has_three_capital_letters(currency: str) -> None:
    with pytest.raises(ValidationError):
        money("1", currency=currency)

"""Prices: what is one, and which rates hold for a prompt."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.ports.prices import ModelPrice, PriceTier

RATES = ["input", "output", "cache_read", "cache_write", "cache_write_1h", "input_audio", "output_audio"]
LONG = PriceTier(200_000, input=2, output=3)
LONGER = PriceTier(1_000_000, input=4, output=5)

every_rate = pytest.mark.parametrize("name", RATES)


def price(**fields: Any) -> ModelPrice:
    known: dict[str, Any] = {"input": 1, "output": 1}
    return ModelPrice(**known | fields)


def tier(**fields: Any) -> PriceTier:
    known: dict[str, Any] = {"above_prompt_tokens": 0, "input": 1, "output": 1}
    return PriceTier(**known | fields)


@every_rate
@pytest.mark.parametrize("written", [Decimal("2.50"), "2.50"], ids=["Decimal", "text"])
def test_a_rate_is_what_was_written(name: str, written: Decimal | str) -> None:
    assert str(getattr(price(**{name: written}), name)) == "2.50"
    assert str(getattr(tier(**{name: written}), name)) == "2.50"


@every_rate
def test_a_rate_may_be_an_int_and_may_be_nothing_to_pay(name: str) -> None:
    assert getattr(price(**{name: 3}), name) == Decimal(3)
    assert getattr(price(**{name: 0}), name) == Decimal(0)


@every_rate
@pytest.mark.parametrize("written", [0.1, 2.0, True, Fraction(1, 3), b"1"], ids=repr)
def test_a_rate_that_is_not_exactly_what_it_says_is_a_type_error(name: str, written: object) -> None:
    with pytest.raises(TypeError, match=name):
        price(**{name: written})
    with pytest.raises(TypeError, match=name):
        tier(**{name: written})


@every_rate
@pytest.mark.parametrize(
    "written",
    ["-1", -1, "free", "", "NaN", "sNaN", "Infinity", "1e9", 10**5_000, "1e-31", "1e-999999", "2,50"],
    ids=lambda written: repr(written)[:12] if isinstance(written, str) else f"int {written < 0}",
)
def test_what_is_no_rate_is_a_value_error_that_says_what_to_give(name: str, written: str | int) -> None:
    with pytest.raises(ValueError, match=f"(?s){name} .*give"):
        price(**{name: written})
    with pytest.raises(ValueError, match=f"(?s){name} .*give"):
        tier(**{name: written})


@pytest.mark.parametrize("name", ["input", "output"])
def test_input_and_output_have_a_rate(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        price(**{name: None})


@pytest.mark.parametrize("name", RATES[2:])
def test_any_other_rate_may_be_unknown(name: str) -> None:
    assert getattr(price(**{name: None}), name) is None
    assert getattr(price(), name) is None


def test_less_than_nothing_is_nothing() -> None:
    assert str(price(input="-0").input) == "0"


@pytest.mark.parametrize("currency", ["usd", "US", "USDT", "USD\n", ""], ids=repr)
def test_a_currency_has_three_capital_letters(currency: str) -> None:
    with pytest.raises(ValueError, match="is no currency"):
        price(currency=currency)


def test_a_price_is_in_dollars_unless_it_says_otherwise() -> None:
    assert (price().currency, price(currency="EUR").currency) == ("USD", "EUR")


# --- tiers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "rate"),
    [
        pytest.param(0, 1, id="nothing asked"),
        pytest.param(200_000, 1, id="at the first threshold"),
        pytest.param(200_001, 2, id="above it"),
        pytest.param(1_000_000, 2, id="at the second"),
        pytest.param(1_000_001, 4, id="above both"),
    ],
)
def test_the_highest_tier_that_a_prompt_exceeds_holds(prompt: int, rate: int) -> None:
    for tiers in ([LONG, LONGER], [LONGER, LONG]):
        assert price(tiers=tiers).rates(prompt).input == rate


def test_tiers_are_kept_in_ascending_order() -> None:
    assert price(tiers=[LONGER, LONG]) == price(tiers=(LONG, LONGER))


def test_two_tiers_at_one_threshold_are_refused() -> None:
    with pytest.raises(ValueError, match="two tiers begin at one threshold"):
        price(tiers=[LONG, LONGER, PriceTier(200_000, input=9, output=9)])


@pytest.mark.parametrize("threshold", [-1, True], ids=repr)
def test_a_threshold_is_a_number_of_tokens(threshold: int) -> None:
    with pytest.raises(ValueError, match="above_prompt_tokens"):
        tier(above_prompt_tokens=threshold)


# --- as a value ------------------------------------------------------------------------------------------

rates = st.decimals(0, 10**9 - 1, allow_nan=False, allow_infinity=False, places=30)
prices = st.builds(
    price,
    **dict.fromkeys(RATES[:2], rates),
    **{name: st.none() | rates for name in RATES[2:]},
    currency=st.sampled_from(["USD", "EUR"]),
    tiers=st.just([LONG]) | st.just([]),
)


@given(prices)
def test_a_price_is_a_value(given_price: ModelPrice) -> None:
    for again in (pickle.loads(pickle.dumps(given_price)), deepcopy(given_price), replace(given_price)):
        assert (again, hash(again), repr(again)) == (given_price, hash(given_price), repr(given_price))


def test_a_price_cannot_change() -> None:
    with pytest.raises(FrozenInstanceError):
        price().input = Decimal(2)  # type: ignore[misc]  # what is tried is not allowed

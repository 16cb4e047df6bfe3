"""What a call cost: the arithmetic, and whose figure counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.model.prices.pricing import PricedCall, compute_cost, resolve_cost
from psych_runtime.model.prices.table import StaticPriceTable
from psych_runtime_core.ports.prices import CostPolicy, ModelPrice, PriceTier
from psych_runtime_core.usage import Cost, Usage

NOW = datetime(2026, 1, 2, tzinfo=UTC)
FULL = ModelPrice(
    "3", "15", cache_read="0.3", cache_write="3.75", cache_write_1h="6", input_audio="10", output_audio="20"
)
PLAIN = ModelPrice("3", "15")


def used(**details: int) -> Usage:
    return Usage(**{"input": 0, "output": 0, **details})


def micros(cost: Cost | None) -> Decimal | None:
    """The amount in millionths: tokens at a rate per million."""
    return None if cost is None else cost.amount * 10**6


# --- the arithmetic --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "amount"),
    [
        pytest.param(used(), 0, id="no tokens cost nothing"),
        pytest.param(used(input=7, output=2), 7 * 3 + 2 * 15, id="input and output"),
        pytest.param(used(input=7, reasoning=0), 21, id="a zero that was said"),
        pytest.param(used(output=9, reasoning=8), 9 * 15, id="reasoning is output"),
        pytest.param(used(input=7, cache_read=100), 21 + 30, id="cache reads"),
        pytest.param(used(cache_write=8), 30, id="cache writes of an unsaid lifetime are usual ones"),
        pytest.param(used(cache_write=8, cache_write_1h=8), 48, id="cache writes for an hour"),
        pytest.param(used(cache_write=8, cache_write_1h=4), 15 + 24, id="cache writes of both lifetimes"),
        pytest.param(used(cache_write_1h=4), 24, id="the lifetime said and their sum not"),
        pytest.param(used(input=7, input_audio=5), 2 * 3 + 50, id="audio in is part of the input"),
        pytest.param(used(output=7, output_audio=5), 2 * 15 + 100, id="audio out is part of the output"),
        pytest.param(
            used(input=4, cache_read=90, input_audio=60), 40 + 27, id="audio beyond the input was cached"
        ),
        pytest.param(used(output=4, output_audio=60), 80, id="no more audio out than output"),
    ],
)
def test_tokens_cost_what_their_rates_say(usage: Usage, amount: int) -> None:
    assert micros(compute_cost(usage, FULL, "m")) == amount


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param(used(input=9, cache_read=1), id="cache reads"),
        pytest.param(used(input=9, cache_write=1), id="cache writes"),
        pytest.param(used(input=9, cache_write_1h=1), id="cache writes for an hour"),
        pytest.param(used(input=9, input_audio=1), id="audio in"),
        pytest.param(used(output=9, output_audio=1), id="audio out"),
    ],
)
def test_tokens_of_a_kind_without_a_rate_have_no_cost(usage: Usage) -> None:
    assert compute_cost(usage, PLAIN, "m") is None
    assert compute_cost(usage, FULL, "m") is not None


def test_an_hour_in_the_cache_is_not_had_at_the_rate_of_minutes() -> None:
    usual = ModelPrice(3, 15, cache_write="3.75")
    assert compute_cost(used(cache_write=8, cache_write_1h=4), usual, "m") is None
    assert micros(compute_cost(used(cache_write=8), usual, "m")) == 30


def test_a_kind_of_which_there_were_no_tokens_needs_no_rate() -> None:
    none = used(input=1, cache_read=0, cache_write=0, cache_write_1h=0, input_audio=0, output_audio=0)
    assert micros(compute_cost(none, PLAIN, "m")) == 3


@pytest.mark.parametrize(
    ("usage", "price"),
    [(None, PLAIN), (used(input=1), None), (None, None)],
    ids=["unreported usage", "no price", "neither"],
)
def test_what_is_not_known_is_none_and_never_zero(usage: Usage | None, price: ModelPrice | None) -> None:
    assert compute_cost(usage, price, "m") is None


def test_zero_is_a_price() -> None:
    cost = compute_cost(used(input=10**6, output=10**6), ModelPrice(0, 0), "m")
    assert cost is not None
    assert cost.amount == 0


def test_a_cost_says_its_parts_its_currency_and_its_model() -> None:
    usage = used(
        input=2, input_audio=1, output=2, output_audio=1, cache_read=10, cache_write=2, cache_write_1h=1
    )
    price = replace(FULL, currency="EUR")
    assert compute_cost(usage, price, "m") == Cost(
        amount=Decimal("0.00006075"),
        currency="EUR",
        model="m",
        source="computed",
        input_amount=Decimal("0.000013"),
        output_amount=Decimal("0.000035"),
        cache_read_amount=Decimal("0.000003"),
        cache_write_amount=Decimal("0.00000975"),
    )


TIERED = ModelPrice(
    1, 2, cache_read="0.1", tiers=[PriceTier(100, 10, 20, cache_read=1), PriceTier(1_000, 100, 200)]
)


@pytest.mark.parametrize(
    ("usage", "amount"),
    [
        pytest.param(used(input=100, output=1), 102, id="at a threshold"),
        pytest.param(used(input=101, output=1), 1_030, id="above it, all tokens of the call"),
        pytest.param(used(input=91, cache_read=10, output=1), 940, id="cached tokens are of the prompt"),
        pytest.param(used(input=1, output=5_000), 10_001, id="output is not"),
        pytest.param(used(input=1_001, output=1), 100_300, id="the highest one holds"),
        pytest.param(used(input=1_001, cache_read=1), None, id="and states all of its rates"),
    ],
)
def test_a_long_prompt_moves_all_tokens_into_its_tier(usage: Usage, amount: int | None) -> None:
    assert micros(compute_cost(usage, TIERED, "m")) == amount


@pytest.mark.parametrize(
    "tokens",
    [
        pytest.param(10**50, id="too many to add up"),
        pytest.param(10**60 + 1, id="too many to multiply exactly"),
        pytest.param(10**400, id="beyond all bounds"),
    ],
)
def test_more_tokens_than_a_sum_can_hold_have_no_cost(tokens: int) -> None:
    assert compute_cost(used(input=tokens), ModelPrice("0.000000000000000000000000000001", 1), "m") is None


rates = st.decimals(0, 10**9 - 1, allow_nan=False, allow_infinity=False, places=30)
tokens = st.integers(0, 10**10)


@given(
    st.builds(
        Usage,
        input=tokens,
        output=tokens,
        cache_read=tokens,
        cache_write=tokens,
        reasoning=st.none() | tokens,
    ),
    st.builds(ModelPrice, rates, rates, cache_read=rates, cache_write=rates),
)
def test_no_cost_is_rounded(usage: Usage, price: ModelPrice) -> None:
    cost = compute_cost(usage, price, "m")
    pairs = [
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read or 0, price.cache_read or 0),
        (usage.cache_write or 0, price.cache_write or 0),
    ]
    exact = sum(count * Fraction(rate) for count, rate in pairs) / 10**6
    if cost is None:
        assert exact >= 10**14
    else:
        assert Fraction(cost.amount) == exact


def test_a_million_priced_calls_add_up_exactly() -> None:
    price = ModelPrice("0.15", "0.6000000003", cache_read="0.075")
    usages = [used(input=call, output=call % 7, cache_read=call % 3) for call in range(1_000)]
    costs = [cost for usage in usages if (cost := compute_cost(usage, price, "m"))]
    thousand = reduce(add, costs)
    million = reduce(add, [thousand] * 1_000)
    sums = reduce(add, usages)
    exact = (
        sums.input * Fraction("0.15")
        + sums.output * Fraction("0.6000000003")
        + (sums.cache_read or 0) * Fraction("0.075")
    )
    assert Fraction(million.amount) == exact / 1_000


# --- whose figure counts ---------------------------------------------------------------------------------

THEIRS = Cost(amount=Decimal("0.5"), source="provider")
TABLE = StaticPriceTable({"m": PLAIN, "served": ModelPrice(7, 7)})


def call(**fields: Any) -> PricedCall:
    known: dict[str, Any] = {"model": "m", "at": NOW, "usage": used(input=10**6)}
    return PricedCall(**known | fields)


@pytest.mark.parametrize(
    ("policy", "reported", "prices", "amount", "source"),
    [
        pytest.param("prefer_provider", THEIRS, TABLE, "0.5", "provider", id="the provider's first"),
        pytest.param("prefer_provider", None, TABLE, "3", "computed", id="else ours"),
        pytest.param("prefer_provider", THEIRS, None, "0.5", "provider", id="no prices, the provider's"),
        pytest.param("prefer_provider", None, None, None, None, id="nobody knows"),
        pytest.param("computed", THEIRS, TABLE, "3", "computed", id="ours alone"),
        pytest.param("computed", THEIRS, None, None, None, id="ours alone, and there is none"),
        pytest.param("computed", THEIRS, StaticPriceTable({}), None, None, id="ours alone, model unknown"),
        pytest.param("provider_only", THEIRS, TABLE, "0.5", "provider", id="theirs alone"),
        pytest.param("provider_only", None, TABLE, None, None, id="theirs alone, and there is none"),
    ],
)
def test_the_policy_says_whose_figure_counts(
    policy: CostPolicy,
    reported: Cost | None,
    prices: StaticPriceTable | None,
    amount: str | None,
    source: str | None,
) -> None:
    cost = resolve_cost(call(reported=reported), prices, policy)
    assert (cost and cost.amount, cost and cost.source) == (amount and Decimal(amount), source)


def test_the_provider_comes_first_unless_somebody_says_otherwise() -> None:
    assert resolve_cost(call(reported=THEIRS), TABLE) == resolve_cost(
        call(reported=THEIRS), TABLE, "prefer_provider"
    )


def test_nothing_to_pay_is_a_figure_of_the_provider() -> None:
    free = Cost(amount=Decimal(0), source="provider", model="m")
    assert resolve_cost(call(reported=free), TABLE) == free


@pytest.mark.parametrize(
    ("model", "served", "amount", "priced"),
    [
        pytest.param("m", "served", 3, "m", id="the id that was asked for first"),
        pytest.param("alias", "served", 7, "served", id="else the one that was served"),
        pytest.param("alias", None, None, None, id="none was served"),
        pytest.param("alias", "other", None, None, id="nor is that one known"),
    ],
)
def test_the_requested_id_is_looked_up_before_the_served_one(
    model: str, served: str | None, amount: int | None, priced: str | None
) -> None:
    cost = resolve_cost(call(model=model, served_model=served), TABLE)
    assert (cost and cost.amount, cost and cost.model) == (amount, priced)


def test_a_price_that_lacks_a_rate_is_not_made_up_from_the_served_model() -> None:
    prices = StaticPriceTable({"m": PLAIN, "served": FULL})
    cached = used(cache_read=1)
    assert resolve_cost(call(usage=cached, served_model="served"), prices) is None
    assert resolve_cost(call(usage=cached, model="served"), prices) is not None


class Asked:
    """Writes down what it is asked, and has one price for all."""

    catalog = "asked 1"

    def __init__(self) -> None:
        self.questions: list[object] = []

    def price_for(
        self, model: str, *, provider: str | None = None, at: datetime, tier: str | None = None
    ) -> ModelPrice | None:
        self.questions.append((model, provider, at, tier))
        return PLAIN if model == "served" else None


def test_prices_are_asked_for_the_provider_the_moment_and_the_tier_of_the_call() -> None:
    asked = Asked()
    cost = resolve_cost(call(provider="acme", tier="flex", served_model="served"), asked)
    assert asked.questions == [("m", "acme", NOW, "flex"), ("served", "acme", NOW, "flex")]
    assert cost is not None
    assert cost.catalog == "asked 1"


def test_prices_are_not_asked_where_the_provider_told_the_cost() -> None:
    asked = Asked()
    resolve_cost(call(reported=THEIRS), asked)
    resolve_cost(call(), asked, "provider_only")
    assert asked.questions == []


def test_a_figure_of_the_provider_is_kept_as_it_is_but_names_a_model() -> None:
    theirs = THEIRS.model_copy(update={"currency": "EUR", "model": "theirs", "input_amount": Decimal("0.1")})
    assert resolve_cost(call(reported=theirs), TABLE) == theirs
    assert resolve_cost(call(reported=THEIRS), TABLE) == THEIRS.model_copy(update={"model": "m"})


@pytest.mark.parametrize("amount", ["1E-41", "1E+14", "1E+999999", "1E-999999"])
def test_a_figure_that_no_sum_could_hold_is_none(amount: str) -> None:
    absurd = Cost(amount=Decimal(amount), source="provider")
    assert resolve_cost(call(reported=absurd), None) is None
    computed = resolve_cost(call(reported=absurd), TABLE)
    assert computed is not None
    assert computed.source == "computed"


def test_a_part_that_no_sum_could_hold_spoils_the_figure() -> None:
    absurd = THEIRS.model_copy(update={"output_amount": Decimal("1E-41")})
    assert resolve_cost(call(reported=absurd), None) is None


@pytest.mark.parametrize("zero", ["0", "0E+20", "0E-41", "0E+999999", "0E-999999", "-0.0"])
def test_a_zero_of_any_exponent_is_a_price_of_nothing(zero: str) -> None:
    reported = Cost(amount=Decimal(zero), input_amount=Decimal(zero), source="provider")
    told = resolve_cost(call(reported=reported), TABLE)
    assert told is not None
    assert (told.source, str(told.amount), str(told.input_amount)) == ("provider", "0", "0")
    assert str((told + told).amount) == "0"


@pytest.mark.parametrize("zero", ["0E+20", "0E-30"])
def test_what_is_free_costs_nothing_however_that_is_written(zero: str) -> None:
    free = compute_cost(used(), ModelPrice(zero, zero), "m")
    assert free is not None
    assert str(free.amount) == "0"

"""A table of prices, and the rule by which ids match."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psych_runtime.model.prices.ids import ids_of
from psych_runtime.model.prices.table import StaticPriceTable
from psych_runtime_core.ports.prices import ModelPrice, PriceResolver

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def price(number: int) -> ModelPrice:
    return ModelPrice(number, number)


def table(*ids: str) -> StaticPriceTable:
    """A table in which each id has the price of its place, from 1."""
    return StaticPriceTable({each: price(place) for place, each in enumerate(ids, start=1)})


def found(prices: PriceResolver, model: str, provider: str | None = None) -> int | None:
    """The place of the price, None for no price."""
    known = prices.price_for(model, provider=provider, at=NOW)
    return None if known is None else int(known.input)


# --- ids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "place"),
    [
        pytest.param("gpt-5", 1, id="whole"),
        pytest.param("GPT-5", 1, id="in capitals"),
        pytest.param("claude-x", 2, id="capitals in the table"),
        pytest.param("gpt-5-2025-01-31", 1, id="dated with dashes"),
        pytest.param("gpt-5-20250131", 1, id="dated without"),
        pytest.param("gpt-5@20250131", 1, id="dated with an at"),
        pytest.param("gpt-5-2024-02-29", 1, id="a leap day"),
        pytest.param("dated-2025-01-31", 3, id="the table has the date"),
        pytest.param("dated-20250131", 3, id="the table spells the date otherwise"),
        pytest.param("dated@20250131", 3, id="the table spells the date otherwise still"),
        pytest.param("dated-2025-02-01", 4, id="the table has another date and none"),
        pytest.param("gpt-5-2025-02-30", None, id="no day of any month"),
        pytest.param("gpt-5-20251301", None, id="no month"),
        pytest.param("gpt-5-0000-01-01", None, id="no year"),
        pytest.param("gpt-5@2025-01-31", None, id="a date in no spelling"),
        pytest.param("gpt-5-2025-0131", None, id="a date half dashed"),
        pytest.param("gpt-5-250131", None, id="a short date"),
        pytest.param("gpt-520250131", None, id="a date that hangs on nothing"),
        pytest.param("gpt-5-2025-01-31-mini", None, id="a date in the middle"),
        pytest.param("gpt-5-2025-01-31\n", None, id="a date and a line end"),
        pytest.param("gpt-5-٢٠٢٥-01-31", None, id="digits of another script"),
        pytest.param("gpt-5-2025-01-31-2025-01-31", None, id="two dates"),
        pytest.param("gpt-5-mini", None, id="another name that begins alike"),
        pytest.param("gpt-", None, id="the beginning of a name"),
        pytest.param("gpt-5 ", None, id="a blank"),
        pytest.param("", None, id="no name"),
        pytest.param("-2025-01-31", None, id="a date alone"),
        pytest.param("unknown", None, id="unknown"),
    ],
)
def test_an_id_matches_whole_or_without_its_date(model: str, place: int | None) -> None:
    assert found(table("gpt-5", "Claude-X", "dated-2025-01-31", "dated"), model) == place


@pytest.mark.parametrize(
    ("model", "provider", "place"),
    [
        pytest.param("m", None, 1, id="for all"),
        pytest.param("m", "acme", 1, id="for all, so for one"),
        pytest.param("m", "Other", 2, id="for the provider first"),
        pytest.param("other/m", None, 2, id="the id names its provider"),
        pytest.param("OTHER/M", "other", 2, id="and the caller names it too"),
        pytest.param("acme/m", None, 1, id="an id that names any provider"),
        pytest.param("acme/m", "acme", 1, id="and the caller names it too, for all"),
        pytest.param("acme/m", "router", None, id="sold by somebody else"),
        pytest.param("other/m", "router", 2, id="sold by somebody else under a whole id"),
        pytest.param("only", None, None, id="an id of one provider, asked for without"),
        pytest.param("only", "other", 3, id="an id of one provider"),
        pytest.param("only-20250131", "other", 3, id="an id of one provider, dated"),
        pytest.param("acme/m-20250131", None, 1, id="for all, dated"),
        pytest.param("a/b/c", None, 4, id="two slashes"),
        pytest.param("b/c", "a", 4, id="two slashes, the first of the provider"),
        pytest.param("/m", None, None, id="a slash before nothing"),
        pytest.param("m/", None, None, id="a slash after nothing"),
    ],
)
def test_an_id_names_its_provider(model: str, provider: str | None, place: int | None) -> None:
    assert found(table("m", "other/m", "other/only", "a/b/c"), model, provider) == place


def test_a_date_that_is_known_comes_before_a_provider_that_has_none() -> None:
    assert found(table("acme/m", "m-2025-01-31"), "m-2025-01-31", "acme") == 2


@given(st.text(min_size=1, max_size=12) | st.sampled_from(["-mini", "-preview", ":free", "-2025", "-latest"]))
def test_a_name_that_only_begins_like_a_known_one_has_no_price(suffix: str) -> None:
    model = f"gpt-5{suffix}"
    assume(len(list(ids_of(model))) == 1)
    assert found(table("gpt-5"), model) is None


@given(st.dates(), st.sampled_from(["-%Y-%m-%d", "-%Y%m%d", "@%Y%m%d"]))
def test_every_date_may_be_left_out(day: date, style: str) -> None:
    year = f"{day.year:04}"
    assert found(table("gpt-5"), f"gpt-5{day.strftime(style.replace('%Y', year))}") == 1


# --- overrides -------------------------------------------------------------------------------------------


def test_overrides_come_first_by_the_same_rules() -> None:
    prices = StaticPriceTable({"m-20250131": price(1), "n": price(2)}, overrides={"M": price(3)})
    assert [found(prices, model) for model in ("m-20250131", "m-2025-01-31", "m", "n")] == [3, 3, 3, 2]


def test_later_overrides_come_before_earlier_ones_and_leave_the_table_as_it_was() -> None:
    first = StaticPriceTable({"m": price(1)}, overrides={"m": price(2), "n": price(2)})
    second = first.with_overrides({"M": price(3)})
    assert [found(second, "m"), found(second, "n")] == [3, 2]
    assert [found(first, "m"), found(first, "n")] == [2, 2]


def test_a_table_keeps_a_copy() -> None:
    prices, overrides = {"m": price(1)}, {"n": price(2)}
    known = StaticPriceTable(prices, overrides=overrides)
    prices["m"], overrides["n"] = price(8), price(9)
    assert (found(known, "m"), found(known, "n")) == (1, 2)


def test_a_table_has_no_name_and_one_price_for_all_times_and_tiers() -> None:
    known = table("m")
    assert known.catalog is None
    assert known.price_for("m", at=NOW.replace(year=1), tier="flex") == known.price_for("m", at=NOW)


# --- what is no row --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        pytest.param({"m": None}, "'m' has no price", id="no price"),
        pytest.param({"m": ("1", "2")}, "'m' has no price", id="a pair"),
        pytest.param({"m": {"input": "1"}}, "'m' has no price", id="a mapping"),
        pytest.param({"": price(1)}, "is no model id", id="no id"),
        pytest.param({7: price(1)}, "is no model id", id="a number as the id"),
        pytest.param({"m": price(1), "M": price(1)}, "priced twice", id="one id in two cases"),
    ],
)
def test_what_is_no_row_fails_when_the_table_is_made(rows: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        StaticPriceTable(rows)
    with pytest.raises(ValueError, match=reason):
        StaticPriceTable({}, overrides=rows)
    with pytest.raises(ValueError, match=reason):
        table().with_overrides(rows)

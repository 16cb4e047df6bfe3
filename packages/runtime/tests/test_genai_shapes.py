"""Rows of `genai-prices` in every shape they may take, and rules that could be read too widely."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import types
from genai_prices.data_units import unit_data

from psych_runtime.model.prices.genai_catalog import GenaiCatalog
from psych_runtime.model.prices.genai_rates import price_of
from psych_runtime_core.ports.prices import ModelPrice, PriceTier

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
NEVER = types.ClauseEquals("")
ONE, TWO, THREE, FOUR = map(Decimal, range(1, 5))


def stated(**rates: Any) -> types.ModelPrice:
    return types.ModelPrice(**rates)


def row(prices: Any, variants: list[types.PriceVariant] | None = None) -> types.ModelInfo:
    return types.ModelInfo(id="m", match=NEVER, prices=prices, price_variants=variants)


def tiered(base: Decimal, *tiers: tuple[int, Decimal]) -> types.TieredPrices:
    return types.TieredPrices(base, [types.Tier(start, rate) for start, rate in tiers])


def read(rates: dict[str, Any]) -> ModelPrice | None:
    return price_of(row(stated(**rates)), NOON, None)


# --- what is a price -------------------------------------------------------------------------------------

BOTH = {"input_mtok": ONE, "output_mtok": TWO}


def test_every_rate_that_usage_can_tell_is_read() -> None:
    every = {
        **BOTH,
        "cache_read_mtok": Decimal("0.1"),
        "cache_write_mtok": Decimal("1.25"),
        "cache_write_1h_mtok": THREE,
        "input_audio_mtok": Decimal("5"),
        "output_audio_mtok": Decimal("6"),
    }
    assert read(every) == ModelPrice(
        1,
        2,
        cache_read="0.1",
        cache_write="1.25",
        cache_write_1h=3,
        input_audio=5,
        output_audio=6,
    )


READ = {
    "input_mtok",
    "output_mtok",
    "cache_read_mtok",
    "cache_write_mtok",
    "cache_write_1h_mtok",
    "input_audio_mtok",
    "output_audio_mtok",
}
ON_REQUEST = {
    "web_searches_kcount",
    "social_searches_kcount",
    "storage_searches_kcount",
    "code_executions_kcount",
}
OTHER_KEYS = sorted({unit["price_key"] for unit in unit_data.values()} - READ - ON_REQUEST)


@pytest.mark.parametrize("key", [each for each in OTHER_KEYS if each != "cache_audio_read_mtok"])
def test_a_row_that_charges_for_anything_else_has_no_price(key: str) -> None:
    assert read({**BOTH, key: ONE}) is None
    assert read({**BOTH, key: None}) == ModelPrice(1, 2)


@pytest.mark.parametrize("key", sorted(ON_REQUEST))
def test_a_fee_of_a_tool_that_must_be_asked_for_is_left_out(key: str) -> None:
    assert read({**BOTH, key: ONE}) == ModelPrice(1, 2)
    assert read({key: ONE}) is None


def test_cached_audio_takes_the_rates_of_audio_away() -> None:
    audio = {"cache_audio_read_mtok": ONE, "input_audio_mtok": TWO, "output_audio_mtok": TWO}
    assert read({**BOTH, **audio, "cache_read_mtok": ONE}) == ModelPrice(1, 2, cache_read=1)


@pytest.mark.parametrize(
    "rates",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"input_mtok": ONE}, id="no output"),
        pytest.param({"output_mtok": ONE}, id="no input"),
        pytest.param({**BOTH, "input_mtok": None}, id="an input that is none"),
        pytest.param({**BOTH, "unheard_of_mtok": ONE}, id="a key of a later release"),
        pytest.param({**BOTH, "output_mtok": Decimal(-1)}, id="a negative rate"),
        pytest.param({**BOTH, "output_mtok": Decimal("NaN")}, id="no number"),
        pytest.param({**BOTH, "cache_read_mtok": Decimal("Infinity")}, id="without end"),
        pytest.param({**BOTH, "input_mtok": 0.1}, id="a float"),
        pytest.param({**BOTH, "input_mtok": "much"}, id="a word"),
        pytest.param({**BOTH, "input_mtok": {"base": ONE}}, id="a mapping"),
        pytest.param({**BOTH, "input_mtok": Decimal("1E+30")}, id="more than there is"),
        pytest.param({**BOTH, "input_mtok": tiered(ONE, (-5, TWO))}, id="a negative threshold"),
        pytest.param({**BOTH, "input_mtok": tiered(ONE, (5, Decimal(-1)))}, id="a negative rate in a tier"),
    ],
)
def test_what_is_no_price_is_none_and_no_error(rates: dict[str, Any]) -> None:
    assert read(rates) is None


def test_a_row_without_prices_has_none() -> None:
    assert price_of(row([]), NOON, None) is None


def test_zero_is_a_price() -> None:
    assert read({"input_mtok": Decimal(0), "output_mtok": Decimal(0)}) == ModelPrice(0, 0)


def test_thresholds_of_single_rates_become_tiers_of_all() -> None:
    rates = {
        "input_mtok": tiered(ONE, (200, THREE), (100, TWO)),
        "output_mtok": tiered(ONE, (150, FOUR)),
        "cache_read_mtok": ONE,
    }
    assert read(rates) == ModelPrice(
        1,
        1,
        cache_read=1,
        tiers=[
            PriceTier(100, 2, 1, cache_read=1),
            PriceTier(150, 2, 4, cache_read=1),
            PriceTier(200, 3, 4, cache_read=1),
        ],
    )


def test_of_two_tiers_at_one_threshold_the_last_holds_as_it_does_for_the_package() -> None:
    rates = {"input_mtok": tiered(ONE, (100, TWO), (100, THREE)), "output_mtok": ONE}
    usage = types.Usage(input_tokens=1_000_000, output_tokens=0)
    assert read(rates) == ModelPrice(1, 1, tiers=[PriceTier(100, 3, 1)])
    assert stated(**rates).calc_price(usage)["total_price"] == THREE


# --- dates and tiers -------------------------------------------------------------------------------------

DATED = row(
    [
        types.ConditionalPrice(prices=stated(input_mtok=ONE, output_mtok=ONE)),
        types.ConditionalPrice(
            types.StartDateConstraint(date(2026, 1, 2)), prices=stated(input_mtok=TWO, output_mtok=TWO)
        ),
        types.ConditionalPrice(
            types.TimeOfDateConstraint(time(23), time(1)), prices=stated(input_mtok=THREE, output_mtok=THREE)
        ),
    ]
)


@pytest.mark.parametrize(
    ("at", "rate"),
    [
        pytest.param("2026-01-01T12:00:00+00:00", 1, id="before the day"),
        pytest.param("2026-01-02T01:00:00+00:00", 2, id="on it"),
        pytest.param("2026-01-02T02:00:00+03:00", 3, id="at night, in universal time"),
        pytest.param("2026-01-01T21:00:00-05:00", 2, id="the day before, elsewhere"),
        pytest.param("2030-05-05T00:59:59+00:00", 3, id="at night, past midnight"),
    ],
)
def test_the_price_is_the_one_of_the_moment_of_the_call(at: str, rate: int) -> None:
    assert price_of(DATED, datetime.fromisoformat(at), None) == ModelPrice(rate, rate)


def variant(when: dict[str, str], **rates: Decimal) -> types.PriceVariant:
    return types.PriceVariant(when=when, prices=stated(**rates))


VARIANTS = row(
    stated(input_mtok=ONE, output_mtok=ONE),
    [
        variant({"service_tier": "flex"}, input_mtok=Decimal("0.5")),
        variant({"service_tier": "priority", "speed": "fast"}, input_mtok=THREE),
        variant({"service_tier": "priority"}, input_mtok=TWO, output_mtok=TWO),
        variant({"service_tier": "hourly"}, requests_kcount=ONE),
        variant({"processing": "batch"}, input_mtok=Decimal("0.1")),
        variant({"speed": "fast"}, input_mtok=FOUR),
    ],
)


@pytest.mark.parametrize(
    ("tier", "price"),
    [
        pytest.param(None, ModelPrice(1, 1), id="no tier"),
        pytest.param("", ModelPrice(1, 1), id="an empty one"),
        pytest.param("default", ModelPrice(1, 1), id="the usual one"),
        pytest.param("Standard", ModelPrice(1, 1), id="the same in another word"),
        pytest.param("auto", ModelPrice(1, 1), id="the one that was chosen"),
        pytest.param("on_demand", ModelPrice(1, 1), id="the usual one of Groq"),
        pytest.param("scale", None, id="one without prices of its own"),
        pytest.param("Flex", None, id="one that is written otherwise"),
        pytest.param("flex", ModelPrice("0.5", 1), id="what a tier leaves out is as usual"),
        pytest.param("priority", ModelPrice(2, 2), id="a tier, not a tier and something else"),
        pytest.param("hourly", None, id="a tier that tokens do not explain"),
        pytest.param("batch", ModelPrice("0.1", 1), id="a batch, which is listed as another condition"),
        pytest.param("fast", None, id="a condition that is no tier"),
    ],
)
def test_a_service_tier_has_its_own_price(tier: str | None, price: ModelPrice | None) -> None:
    assert price_of(VARIANTS, NOON, tier) == price


def test_reading_a_row_leaves_it_as_it_is() -> None:
    before = repr(VARIANTS)
    price_of(VARIANTS, NOON, "flex")
    assert repr(VARIANTS) == before


# --- rules -----------------------------------------------------------------------------------------------


def model(name: str, match: types.MatchLogic) -> types.ModelInfo:
    return types.ModelInfo(id=name, match=match)


def seller(name: str, *models: types.ModelInfo, **fields: Any) -> types.Provider:
    pattern = rf"https://api\.{name}\.example"
    return types.Provider(id=name, name=name, api_pattern=pattern, models=list(models), **fields)


def found(providers: Sequence[types.Provider], name: str, provider: str | None = "acme") -> str | None:
    """The id of the row, None for no row."""
    known = GenaiCatalog(providers).row(name, provider)
    return None if known is None else known.model.id


RULES: list[types.MatchLogic] = [
    types.ClauseEquals("Whole"),
    types.ClauseStartsWith("Begins"),
    types.ClauseOr([types.ClauseEquals("one"), types.ClauseOr([types.ClauseStartsWith("two")])]),
    types.ClauseAnd([types.ClauseStartsWith("three"), types.ClauseRegex("^(?!.*-tts)")]),
    types.ClauseAnd([types.ClauseStartsWith("four"), types.ClauseEndsWith("-end")]),
    types.ClauseContains("inside"),
    types.ClauseRegex("^pattern"),
    types.ClauseEndsWith("behind"),
]


@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        ("ROW", True),
        ("whole", True),
        ("begins", True),
        ("begins-and-goes-on", False),
        ("one", True),
        ("two", True),
        ("two-and-a-half", False),
        ("three", True),
        ("three-mini", False),
        ("four", False),
        ("four-end", False),
        ("-end", False),
        ("inside", False),
        ("is-inside-it", False),
        ("pattern", False),
        ("^pattern", False),
        ("behind", False),
    ],
)
def test_a_rule_lends_the_ids_that_it_writes_out_and_no_others(name: str, is_known: bool) -> None:
    acme = seller("acme", *(model(f"row{at or ''}", rule) for at, rule in enumerate(RULES)))
    assert (found([acme], name) is not None) is is_known


def test_an_id_is_the_row_of_that_id_before_any_that_writes_it_out() -> None:
    acme = seller("acme", model("a", types.ClauseEquals("b")), model("b", NEVER))
    assert found([acme], "b") == "b"


def test_of_two_rows_that_write_out_one_id_the_first_has_it() -> None:
    acme = seller("acme", model("a", types.ClauseEquals("x")), model("b", types.ClauseStartsWith("x")))
    assert found([acme], "x") == "a"


@pytest.mark.parametrize(
    ("provider", "row_id"),
    [
        pytest.param("acme", "m", id="its name"),
        pytest.param("ACME", "m", id="its name in capitals"),
        pytest.param("alias", "m", id="a word of its rule"),
        pytest.param("an-alias", None, id="a name with that word in it"),
        pytest.param("api.acme.example", "m", id="its host"),
        pytest.param("api.acme.example:8443", "m", id="its host with a port"),
        pytest.param("https://API.acme.example/v1", "m", id="its URL"),
        pytest.param("http://api.acme.example/v1", None, id="another scheme"),
        pytest.param("https://api.acme.example.evil.example/v1", None, id="a host that begins alike"),
        pytest.param("https://api.acme.examples", None, id="a host that goes on"),
        pytest.param("https://evil.example/https://api.acme.example", None, id="its URL behind another"),
        pytest.param("evil.example?api.acme.example", None, id="its host in a query"),
    ],
)
def test_a_provider_is_meant_by_its_names_and_its_host(provider: str, row_id: str | None) -> None:
    acme = seller("acme", model("m", NEVER), provider_match=types.ClauseOr([types.ClauseContains("alias")]))
    assert found([acme], "m", provider) == row_id


def test_a_name_of_one_provider_is_not_taken_by_the_rule_of_another() -> None:
    first = seller("first", model("m", NEVER), provider_match=types.ClauseEquals("second"))
    second = seller("second", model("n", NEVER))
    assert (found([first, second], "n", "second"), found([first, second], "m", "second")) == ("n", None)


def test_without_a_provider_the_first_whose_rule_claims_the_id_sells_it() -> None:
    first = seller("first", model("other", NEVER), model_match=types.ClauseContains("m"))
    second = seller("second", model("m-1", NEVER), model_match=types.ClauseStartsWith("m-"))
    assert found([second, first], "M-1", None) == "m-1"
    assert found([first, second], "m-1", None) is None
    assert found([second], "x-1", None) is None


def test_who_sells_for_a_maker_has_its_ids_behind_its_own() -> None:
    maker = seller("maker", model("m", NEVER), model("n", NEVER), model("o", NEVER))
    shop = seller(
        "shop",
        model("m", types.ClauseEquals("m")),
        model("odd", types.ClauseContains("o")),
        fallback_model_providers=["gone", "maker"],
    )
    catalog = GenaiCatalog([maker, shop])
    own, lent = catalog.row("m", "shop"), catalog.row("n", "shop")
    assert own is not None
    assert lent is not None
    assert (own.model, own.own, lent.model, lent.own) == (shop.models[0], True, maker.models[1], False)
    assert catalog.row("o", "shop") is None

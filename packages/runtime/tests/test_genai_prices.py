"""Prices out of `genai-prices`: its rows by our rules, its own arithmetic as the judge."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache

import genai_prices
import pytest
from genai_prices import types
from genai_prices.data import providers
from hypothesis import assume, given
from hypothesis import strategies as st

from psych_runtime.model.prices.genai import DEFAULT_PRICES, GenaiPrices
from psych_runtime.model.prices.ids import ids_of
from psych_runtime.model.prices.pricing import compute_cost
from psych_runtime_core.ports.prices import ModelPrice
from psych_runtime_core.usage import Usage

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MOMENTS = [datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 9, 1, 18, tzinfo=UTC), NOW.replace(hour=2), NOW]
PRICES = GenaiPrices()


def price(model: str, provider: str | None = None, tier: str | None = None) -> ModelPrice | None:
    return PRICES.price_for(model, provider=provider, at=NOW, tier=tier)


def rates(model: str, provider: str | None = None, tier: str | None = None) -> tuple[Decimal, Decimal] | None:
    """Input and output, None for no price."""
    known = price(model, provider, tier)
    return None if known is None else (known.input, known.output)


# --- which row -------------------------------------------------------------------------------------------


@cache
def ids(provider: str) -> dict[str, types.ModelInfo]:
    """Every id that a provider's rows write out, straight from the package."""
    rows = next(each.models for each in providers if each.id == provider)
    known = {row.id.lower(): row for row in rows}
    return {**{text: row for row in rows for text in written(row.match) if row.is_match(text)}, **known}


def written(rule: object) -> Iterator[str]:
    if isinstance(rule, types.ClauseEquals):
        yield rule.equals.lower()
    if isinstance(rule, types.ClauseStartsWith):
        yield rule.starts_with.lower()
    parts = (
        rule.or_
        if isinstance(rule, types.ClauseOr)
        else rule.and_
        if isinstance(rule, types.ClauseAnd)
        else []
    )
    for part in parts:
        yield from written(part)


def sold(provider: types.Provider) -> set[str]:
    """Every id that may have a price at a provider, those of the makers it sells for too."""
    return {
        text for seller in (provider.id, *(provider.fallback_model_providers or ())) for text in ids(seller)
    }


KNOWN = sorted((provider.id, text) for provider in providers for text in sold(provider))


def is_priced(provider: str, text: str) -> bool:
    return price(text, provider) is not None


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("gpt-4.9-x", id="a number between two"),
        pytest.param("o1zebra", id="a provider's rule alone claims it"),
        pytest.param("gpt-4o-minimal", id="longer"),
        pytest.param("gpt-4", id="known, but see the next"),
        pytest.param("my-claude-sonnet-4-5", id="known at its end"),
        pytest.param("omni-moderation-latest", id="a rule that looks inside"),
        pytest.param("", id="no name"),
        pytest.param("/", id="a slash"),
    ],
)
def test_a_name_that_resembles_a_known_one_has_no_price(model: str) -> None:
    assert (rates(model) is not None) == (model == "gpt-4")


suffixes = st.text(min_size=1, max_size=10) | st.sampled_from(
    ["-mini", "-latest", ":free", "-v1", "-2024", "x"]
)


@given(st.sampled_from(KNOWN), suffixes)
def test_a_known_id_with_anything_behind_it_that_is_no_date_has_no_price(
    known: tuple[str, str], suffix: str
) -> None:
    provider, text = known
    model = text + suffix
    seller = next(each for each in providers if each.id == provider)
    assume(len(list(ids_of(model))) == 1 and model.lower() not in sold(seller))
    assert not is_priced(provider, model)


@given(st.sampled_from(KNOWN), st.text(min_size=1, max_size=10))
def test_a_known_id_with_anything_before_it_has_no_price(known: tuple[str, str], prefix: str) -> None:
    provider, text = known
    model = prefix + text
    seller = next(each for each in providers if each.id == provider)
    assume("/" not in prefix and not set(ids_of(model)) & sold(seller))
    assert not is_priced(provider, model)


@given(st.sampled_from(KNOWN), st.dates())
def test_a_known_id_with_a_date_has_its_price_unless_the_date_has_its_own(
    known: tuple[str, str], day: date
) -> None:
    provider, text = known
    dated = f"{text}-{day.year:04}{day.month:02}{day.day:02}"
    seller = next(each for each in providers if each.id == provider)
    assume(len(list(ids_of(text))) == 1 and not set(list(ids_of(dated))[:-1]) & sold(seller))
    assert price(dated, provider) == price(text, provider)


def test_a_date_with_a_price_of_its_own_keeps_it_in_every_spelling() -> None:
    own = rates("gpt-4o-2024-05-13")
    assert own == (Decimal(5), Decimal(15))
    assert rates("gpt-4o-20240513") == rates("gpt-4o@20240513") == own != rates("gpt-4o")


@pytest.mark.parametrize(
    ("provider", "seller"),
    [
        *((name, name) for name in ("openai", "azure", "openrouter", "deepseek", "mistral", "groq")),
        ("xai", "x-ai"),
        ("gemini", "google"),
        ("OpenAI", "openai"),
        ("bedrock", "aws"),
        ("https://api.openai.com/v1", "openai"),
        ("api.openai.com", "openai"),
        ("API.OpenAI.com:443", "openai"),
        ("generativelanguage.googleapis.com", "google"),
        ("acme.openai.azure.com", "azure"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.moonshot.cn/v1", "moonshotai"),
        ("bedrock-runtime.eu-west-1.amazonaws.com", "aws"),
    ],
)
def test_a_provider_is_known_by_name_and_by_url(provider: str, seller: str) -> None:
    priced = [text for text in ids(seller) if is_priced(seller, text)]
    assert priced
    assert [price(text, provider) for text in priced] == [price(text, seller) for text in priced]


@pytest.mark.parametrize(
    "provider",
    [
        "ollama",
        "other",
        "localhost",
        "127.0.0.1",
        "http://localhost:11434/v1",
        "my-openai",
        "api.openai.com.evil.example",
        "https://evil.example/api.openai.com",
    ],
)
def test_what_an_unknown_provider_charges_is_not_known(provider: str) -> None:
    assert rates("gpt-4o", provider) is None
    assert rates("openai/gpt-4o", provider) is None


@pytest.mark.parametrize(
    ("model", "provider", "as_model", "at_provider"),
    [
        ("gpt-4o", None, "gpt-4o", "openai"),
        ("claude-sonnet-4-5", None, "claude-sonnet-4-5", "anthropic"),
        ("openai/gpt-4o", None, "gpt-4o", "openai"),
        ("OpenAI/GPT-4o", "openai", "gpt-4o", "openai"),
        ("google/gemini-2.5-pro", None, "gemini-2.5-pro", "google"),
        ("anthropic/claude-sonnet-4.5", "openrouter", "anthropic/claude-sonnet-4.5", "openrouter"),
        ("openrouter/anthropic/claude-sonnet-4.5", None, "anthropic/claude-sonnet-4.5", "openrouter"),
        ("openai/gpt-4o-2024-05-13", None, "gpt-4o-2024-05-13", "openai"),
        ("openai/gpt-4o-20310101", None, "gpt-4o", "openai"),
    ],
)
def test_without_a_provider_the_id_says_who_sells_the_model(
    model: str, provider: str | None, as_model: str, at_provider: str
) -> None:
    expected = price(as_model, at_provider)
    assert expected is not None
    assert price(model, provider) == expected


def test_a_vendor_that_the_id_names_wins_over_a_rule_that_claims_it() -> None:
    assert rates("groq/claude-sonnet-4-5") is None
    assert rates("nobody/gpt-4o") is None


def test_a_provider_that_is_given_sells_every_model() -> None:
    pinned = GenaiPrices(provider="https://openrouter.ai/api/v1")
    model = "anthropic/claude-sonnet-4.5"
    for provider in (None, "localhost", "openai"):
        assert pinned.price_for(model, provider=provider, at=NOW) == price(model, "openrouter")


def test_who_sells_for_others_does_so_at_their_prices_and_not_in_their_tiers() -> None:
    assert "o1-pro" not in ids("azure")
    assert rates("o1-pro", "azure") == rates("o1-pro", "openai")
    tiered = next(
        text for text, row in ids("openai").items() if row.price_variants and text not in ids("azure")
    )
    assert price(tiered, "azure", "default") == price(tiered, "azure") == price(tiered, "openai")
    assert price(tiered, "azure", "priority") is None


def test_overrides_come_first_by_the_same_rules() -> None:
    mine = ModelPrice(1, 1)
    prices = GenaiPrices(overrides={"gpt-4o": mine, "acme/house": mine})
    assert prices.price_for("GPT-4o-20310101", at=NOW) == mine
    assert prices.price_for("house", provider="acme", at=NOW) == mine
    assert prices.price_for("gpt-4o-mini", at=NOW) == price("gpt-4o-mini")
    assert GenaiPrices(provider="acme", overrides={"acme/house": mine}).price_for("house", at=NOW) == mine


@pytest.mark.parametrize(
    ("provider", "near"),
    [
        pytest.param("opnai", "give one of openai, or its URL", id="a slip"),
        pytest.param("Anthropics", "give one of anthropic, ", id="in any case"),
        pytest.param("https://opnai.example/v1", "anthropic, ", id="a URL, and all that there are"),
    ],
)
def test_a_provider_that_is_not_there_is_refused_with_those_that_are_near(provider: str, near: str) -> None:
    with pytest.raises(ValueError, match=f"provider='{provider}' is none of genai-prices: .*{near}"):
        GenaiPrices(provider=provider, overrides={"gpt-4o": ModelPrice(1, 1)})


@pytest.mark.parametrize("provider", [None, "openai", "OpenAI", "https://api.openai.com/v1"])
def test_a_provider_that_is_there_has_its_prices(provider: str | None) -> None:
    assert GenaiPrices(provider=provider).price_for("gpt-4o", at=NOW) is not None


def test_a_row_that_is_no_price_is_refused_when_the_prices_are_made() -> None:
    with pytest.raises(ValueError, match="has no price"):
        GenaiPrices(overrides={"m": None})  # type: ignore[dict-item]  # what is tried is not allowed


def test_the_catalog_names_package_and_version() -> None:
    assert PRICES.catalog == DEFAULT_PRICES.catalog == f"genai-prices {genai_prices.__version__}"


def test_what_a_runtime_knows_by_default_is_what_the_package_says() -> None:
    assert DEFAULT_PRICES.price_for("gpt-4o", at=NOW) == price("gpt-4o")


# --- the package as the judge ----------------------------------------------------------------------------

RATE_KEYS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "input_audio_mtok": "input_audio",
    "output_audio_mtok": "output_audio",
}
SEARCHES = {"web_searches_kcount", "storage_searches_kcount"}
USAGES = [
    pytest.param(Usage(input=1_000, output=500), id="text"),
    pytest.param(Usage(input=150_000, output=7), id="a long prompt"),
    pytest.param(Usage(input=900_000, output=7, reasoning=5), id="a very long prompt"),
    pytest.param(Usage(input=100_000, output=1, cache_read=150_001), id="a prompt long by its cache"),
    pytest.param(Usage(input=9, output=9, cache_read=99, cache_write=999), id="a cached prompt"),
    pytest.param(
        Usage(input=9, output=9, cache_read=300_000, cache_write=50, cache_write_1h=20), id="both lifetimes"
    ),
    pytest.param(Usage(input=90, output=90, input_audio=30, output_audio=20), id="audio"),
    pytest.param(Usage(input=0, output=0), id="nothing"),
]


def judged(
    usage: Usage, row: types.ModelInfo, provider: types.Provider, at: datetime, tier: str | None
) -> Decimal:
    """The cost as the package works it out."""
    theirs = types.Usage(
        input_tokens=usage.prompt,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read or 0,
        cache_write_tokens=usage.cache_write or 0,
        cache_write_1h_tokens=usage.cache_write_1h or 0,
        input_audio_tokens=usage.input_audio or 0,
        output_audio_tokens=usage.output_audio or 0,
        cache_audio_read_tokens=0,
        input_image_tokens=0,
        output_image_tokens=0,
    )
    context = {"service_tier": tier, "processing": tier} if tier else None
    found = row.calc_price(theirs, provider, genai_request_timestamp=at, price_context=context)
    return found.total_price


def explained(usage: Usage, stated: types.ModelPrice) -> bool:
    """Whether tokens alone explain what a row charges, and each kind that was used has a rate."""
    keys = {key for key, rate in vars(stated).items() if rate is not None} - SEARCHES
    if "cache_audio_read_mtok" in keys:
        keys -= {"cache_audio_read_mtok", "input_audio_mtok", "output_audio_mtok"}
    if not {"input_mtok", "output_mtok"} <= keys <= RATE_KEYS.keys():
        return False
    counts = {
        **usage.model_dump(),
        "cache_write": (usage.cache_write or 0) - (usage.cache_write_1h or 0),
    }
    return all(key in keys for key, kind in RATE_KEYS.items() if counts[kind])


@cache
def rows() -> list[tuple[types.Provider, str, types.ModelInfo]]:
    """Every id at every provider that the package takes for the row that writes it out.

    A few ids it does not find at all, since its rules leave them out.
    """
    return [(each, text, row) for each, text, row, found in everywhere() if found is None or found is row]


@cache
def everywhere() -> list[tuple[types.Provider, str, types.ModelInfo, types.ModelInfo | None]]:
    """Every id at every provider, the row that writes it out, and the row that the package finds for it."""
    return [
        (each, text, row_of(each, text), each.find_model(text, all_providers=providers))
        for each in providers
        for text in sorted(sold(each))
    ]


def row_of(provider: types.Provider, text: str) -> types.ModelInfo:
    sellers = (provider.id, *(provider.fallback_model_providers or ()))
    return next(ids(seller)[text] for seller in sellers if text in ids(seller))


def test_an_id_that_the_package_takes_for_another_row_has_that_price_or_none() -> None:
    doubtful = {
        (each.id, text): found.id
        for each, text, row, found in everywhere()
        if found is not None and found is not row
    }
    assert doubtful["azure", "o4-mini-deep-research"] == "o4-mini"
    assert price("o4-mini-deep-research", "azure") is None
    for (seller, text), found in doubtful.items():
        assert price(text, seller) in {None, price(found, seller)}


@pytest.mark.parametrize("usage", USAGES)
def test_every_id_costs_what_the_package_says_or_is_not_known(usage: Usage) -> None:
    assert agree(usage, NOW) > 10


@pytest.mark.parametrize("at", MOMENTS, ids=str)
def test_every_id_costs_at_every_moment_what_the_package_says(at: datetime) -> None:
    assert agree(Usage(input=1_000, output=500), at) > 3_000


def agree(usage: Usage, at: datetime) -> int:
    """How many ids have a cost, which for all is the package's; the others are of rows we leave out."""
    known = 0
    for provider, text, row in rows():
        cost = compute_cost(usage, PRICES.price_for(text, provider=provider.id, at=at), text)
        assert (cost is not None) == explained(usage, row.get_prices(at)), (provider.id, text)
        if cost is not None:
            known += 1
            assert cost.amount == judged(usage, row, provider, at, None), (provider.id, text)
    return known


@pytest.mark.parametrize("tier", ["default", "flex", "priority", "fast", "batch", ""], ids=repr)
def test_every_tier_costs_what_the_package_says(tier: str) -> None:
    usage, known = Usage(input=150_000, output=100), 0
    for provider, text, row in rows():
        if row.price_variants:
            cost = compute_cost(usage, PRICES.price_for(text, provider=provider.id, at=NOW, tier=tier), text)
            if cost is not None:
                known += 1
                assert cost.amount == judged(usage, row, provider, NOW, tier), (provider.id, text)
    assert known > 10


@pytest.mark.parametrize("tier", ["weird", "scale", "Priority", "fast ", "\0"], ids=repr)
def test_no_id_has_a_price_in_a_tier_that_nobody_lists(tier: str) -> None:
    assert [text for provider, text, _ in rows() if price(text, provider.id, tier) is not None] == []


def test_a_tier_has_no_price_before_its_row_begins() -> None:
    row = ids("openai")["gpt-5"]
    starts = [
        (variant.when["service_tier"], variant.constraint.start_date)
        for variant in row.price_variants or ()
        if isinstance(variant.constraint, types.StartDateConstraint) and "service_tier" in variant.when
    ]
    assert starts
    for tier, day in starts:
        begins = datetime(day.year, day.month, day.day, tzinfo=UTC)
        known = [
            PRICES.price_for("gpt-5", provider="openai", at=at, tier=tier) is not None
            for at in (begins - timedelta(seconds=1), begins)
        ]
        assert known == [False, True]


def test_a_batch_costs_what_is_listed_for_it() -> None:
    usual, batch = rates("claude-sonnet-4-5"), rates("claude-sonnet-4-5", tier="batch")
    assert usual is not None
    assert batch is not None
    assert (batch[0] * 2, batch[1] * 2) == usual


def test_tiers_differ() -> None:
    assert rates("gpt-5", tier="priority") != rates("gpt-5", tier="flex") != rates("gpt-5")
    assert rates("gpt-5", tier="default") == rates("gpt-5")


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("perplexity/sonar-pro", id="per request"),
        pytest.param("whisper-1", id="per hour"),
        pytest.param("mistral/mistral-ocr-2505", id="per page"),
        pytest.param("tts-1", id="per character"),
        pytest.param("gpt-image-1", id="pictures apart from text"),
        pytest.param("gemini-2.5-flash-image", id="pictures out"),
        pytest.param("perplexity/sonar-deep-research", id="reasoning apart from output"),
        pytest.param("openai/text-embedding-3-small", id="no output"),
        pytest.param("cerebras/qwen-3-coder-480b", id="nothing at all"),
    ],
)
def test_what_tokens_do_not_explain_has_no_price(model: str) -> None:
    vendor, _, rest = model.rpartition("/")
    assert rest in {text for provider in providers for text in ids(provider.id)}
    assert price(rest, vendor or None) is None


def test_a_search_that_can_be_asked_for_takes_no_price_away() -> None:
    assert vars(ids("openai")["gpt-5"].get_prices(NOW))["web_searches_kcount"]
    assert price("gpt-5") is not None


def test_audio_has_no_price_where_cached_audio_has_its_own() -> None:
    flash = price("gemini-2.5-flash", "google")
    assert flash is not None
    assert flash.cache_read is not None
    assert (flash.input_audio, flash.output_audio) == (None, None)


def test_the_price_of_the_day_is_the_one_of_that_day() -> None:
    dated = [
        (row, provider)
        for provider in providers
        for row in provider.models
        if isinstance(row.prices, list)
        for constraint in [row.prices[-1].constraint]
        if isinstance(constraint, types.StartDateConstraint)
    ]
    changed = 0
    for row, provider in dated:
        before, after = (
            PRICES.price_for(row.id, provider=provider.id, at=at)
            for at in (MOMENTS[0].replace(year=2000), NOW.replace(year=2100))
        )
        changed += before != after
    assert changed > 10

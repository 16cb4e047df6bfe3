"""A row of genai-prices as a price of ours. Imports that package, and so is itself imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias, TypedDict

from genai_prices import types

from psych_runtime_core.ports.prices import ModelPrice, PriceTier

Stated: TypeAlias = Mapping[str, Decimal | types.TieredPrices]

_REQUIRED = {"input_mtok", "output_mtok"}
_AUDIO = {"input_audio_mtok", "output_audio_mtok"}
_RATES = {*_REQUIRED, *_AUDIO, "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok"}
# Fees of tools that a provider runs only when it is asked to; tokens explain all the rest.
_TOOL_FEES = {
    "code_executions_kcount",
    "social_searches_kcount",
    "storage_searches_kcount",
    "web_searches_kcount",
}
# Usage does not part cached audio from cached text: where the two differ in price, audio has none.
_CACHED_AUDIO = "cache_audio_read_mtok"

# A batch is listed apart from the tiers of single calls.
_TIER_CONDITIONS = ("service_tier", "processing")
# What providers say of a call that was served as usual; the last is Groq's.
_USUAL = {"", "default", "standard", "auto", "on_demand"}


def price_of(row: types.ModelInfo, at: datetime, tier: str | None) -> ModelPrice | None:
    """What a row says for a moment and a service tier.

    None where tokens do not explain what is charged, and for a tier that the row does not know at the time.
    """
    found = _in_tier(row, at, tier or "") if row.prices else None
    if found is None:
        return None
    written: dict[str, Any] = vars(found)
    stated = {key: rate for key, rate in written.items() if rate is not None and key not in _TOOL_FEES}
    if _CACHED_AUDIO in stated:
        stated = {key: rate for key, rate in stated.items() if key not in {_CACHED_AUDIO, *_AUDIO}}
    if not _REQUIRED <= stated.keys() <= _RATES:
        return None
    try:
        return _price(stated)
    except (TypeError, ValueError):
        # A later release may write what is no rate; no price is better than a guess.
        return None


def is_usual(tier: str | None) -> bool:
    """Whether a call of this tier was served as any other."""
    return (tier or "").lower() in _USUAL


def _in_tier(row: types.ModelInfo, at: datetime, tier: str) -> types.ModelPrice | None:
    """The prices of a tier, wherever they are listed; those of every day for one that is the usual one."""
    for condition in _TIER_CONDITIONS:
        context = {condition: tier}
        if any(_applies(variant, at, context) for variant in row.price_variants or ()):
            return row.get_prices(at, context)
    return row.get_prices(at) if is_usual(tier) else None


def _applies(variant: types.PriceVariant, at: datetime, context: Mapping[str, str]) -> bool:
    active = variant.constraint is None or variant.constraint.active(at)
    return active and dict(variant.when) == context


def _price(stated: Stated) -> ModelPrice:
    tiered = [rate for rate in stated.values() if isinstance(rate, types.TieredPrices)]
    thresholds = sorted({tier.start for rate in tiered for tier in rate.tiers})
    tiers = [PriceTier(threshold, **_rates(stated, threshold)) for threshold in thresholds]
    return ModelPrice(**_rates(stated, None), tiers=tiers)


class _Rates(TypedDict):
    input: Decimal
    output: Decimal
    cache_read: Decimal | None
    cache_write: Decimal | None
    cache_write_1h: Decimal | None
    input_audio: Decimal | None
    output_audio: Decimal | None


def _rates(stated: Stated, threshold: int | None) -> _Rates:
    """All rates above a threshold, or below the first one."""

    def known(key: str) -> Decimal | None:
        return _rate(stated[key], threshold) if key in stated else None

    return _Rates(
        input=_rate(stated["input_mtok"], threshold),
        output=_rate(stated["output_mtok"], threshold),
        cache_read=known("cache_read_mtok"),
        cache_write=known("cache_write_mtok"),
        cache_write_1h=known("cache_write_1h_mtok"),
        input_audio=known("input_audio_mtok"),
        output_audio=known("output_audio_mtok"),
    )


def _rate(stated: Decimal | types.TieredPrices, threshold: int | None) -> Decimal:
    if not isinstance(stated, types.TieredPrices):
        return stated
    reached = [tier.price for tier in stated.tiers if threshold is not None and tier.start <= threshold]
    return reached[-1] if reached else stated.base

"""Prices out of the package `genai-prices`, and those that a Runtime knows by default."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from psych_runtime.model.prices.ids import vendor_of
from psych_runtime.model.prices.table import StaticPriceTable
from psych_runtime_core.errors import MissingExtra
from psych_runtime_core.ports.prices import ModelPrice, PriceResolver

if TYPE_CHECKING:
    from psych_runtime.model.prices.genai_catalog import GenaiCatalog


class GenaiPrices:
    """The rows that an installed `genai-prices` carries, by whole ids; they change with its version alone.

    `provider` says who sells every model: a name of that package, or a base URL. Without one it is the
    provider of the call, else the one that an id such as `vendor/model` names, else the one whose models have
    such names. `overrides` come first. A row that charges for more than tokens has no price. Raises
    `MissingExtra` where the package is not installed, and `ValueError` for a `provider` that neither it nor
    an override knows. It is imported to look one up: a `provider`, or the first price.
    """

    def __init__(
        self, *, provider: str | None = None, overrides: Mapping[str, ModelPrice] | None = None
    ) -> None:
        if not _is_installed():
            raise MissingExtra("genai_prices", "prices")
        self._provider = provider
        self._overrides = StaticPriceTable(overrides or {})
        if provider and provider.lower() not in {vendor_of(model)[0] for model in overrides or {}}:
            _check(provider, self._catalog)

    @property
    def catalog(self) -> str | None:
        """`genai-prices` and its version; None where it came without its metadata."""
        try:
            return f"genai-prices {version('genai-prices')}"
        except PackageNotFoundError:
            return None

    def price_for(
        self, model: str, *, provider: str | None = None, at: datetime, tier: str | None = None
    ) -> ModelPrice | None:
        """The price of the row that `model` means, as it was at a moment in a service tier."""
        seller = self._provider or provider
        override = self._overrides.price_for(model, provider=seller, at=at, tier=tier)
        if override is not None:
            return override
        row = self._catalog.row(model, seller)
        if row is None:
            return None
        from psych_runtime.model.prices.genai_rates import is_usual, price_of

        # What others sell is listed at the usual price of its maker, whose tiers are the maker's own.
        return price_of(row.model, at, tier) if row.own or is_usual(tier) else None

    @cached_property
    def _catalog(self) -> GenaiCatalog:
        # The rows of the package itself: its updater fetches others, and is never started.
        from genai_prices.data import providers

        from psych_runtime.model.prices.genai_catalog import GenaiCatalog

        return GenaiCatalog(providers)


def _check(provider: str, catalog: GenaiCatalog) -> None:
    if not catalog.knows(provider):
        near = get_close_matches(provider.lower(), catalog.names) or catalog.names
        raise ValueError(
            f"provider={provider!r} is none of genai-prices: give one of {', '.join(near)}, or its URL"
        )


def _is_installed() -> bool:
    return find_spec("genai_prices") is not None


# Nobody asked for the extra, so nothing is missed where it is not there: no model has a price.
DEFAULT_PRICES: PriceResolver = GenaiPrices() if _is_installed() else StaticPriceTable({})

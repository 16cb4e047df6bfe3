"""Prices that the author of a process wrote down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from psych_runtime.model.prices.ids import ids_of, vendor_of
from psych_runtime_core.ports.prices import ModelPrice


class StaticPriceTable:
    """Prices by model id. An id such as `vendor/model` holds for that provider, any other one for all.

    Ids match whole, in any case; failing that, an id with a date at its end matches the one without it.
    `overrides` come first. What is no price, and what is written twice, is a `ValueError` at once.
    """

    def __init__(
        self, prices: Mapping[str, ModelPrice], *, overrides: Mapping[str, ModelPrice] | None = None
    ) -> None:
        self._prices = _checked(prices)
        self._overrides = _checked(overrides or {})

    @property
    def catalog(self) -> str | None:
        """A table written by hand has no name."""
        return None

    def with_overrides(self, overrides: Mapping[str, ModelPrice]) -> StaticPriceTable:
        """A table in which these come first, before earlier ones."""
        return StaticPriceTable(self._prices, overrides={**self._overrides, **_checked(overrides)})

    def price_for(
        self,
        model: str,
        *,
        provider: str | None = None,
        at: datetime,  # noqa: ARG002 - a table has one price for all times
        tier: str | None = None,  # noqa: ARG002 - and for all service tiers
    ) -> ModelPrice | None:
        """The price of the first id that fits, overrides before all others."""
        ids = tuple(_ids(model, provider))
        tables = (self._overrides, self._prices)
        return next((table[each] for table in tables for each in ids if each in table), None)


def _ids(model: str, provider: str | None) -> Iterator[str]:
    """Where a price may stand: for this provider, then for any, each date on its own."""
    seller = provider and provider.lower()
    for each in ids_of(model):
        vendor, rest = vendor_of(each)
        if seller:
            yield f"{seller}/{each}"
        yield each
        if vendor and seller in {None, "", vendor}:
            yield rest


def _checked(prices: Mapping[str, ModelPrice]) -> dict[str, ModelPrice]:
    checked: dict[str, ModelPrice] = {}
    for model, price in prices.items():
        _check(model, price)
        if model.lower() in checked:
            raise ValueError(f"{model!r} is priced twice: ids are read without regard to case; keep one")
        checked[model.lower()] = price
    return checked


def _check(model: object, price: object) -> None:
    if not isinstance(model, str) or not model:
        raise ValueError(f"{model!r} is no model id; give the name by which the model is asked for")
    if not isinstance(price, ModelPrice):
        raise ValueError(f'{model!r} has no price: {price!r}; give ModelPrice(input="2.50", output="10")')

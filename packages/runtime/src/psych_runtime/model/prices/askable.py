"""Whether a consumer's object can be asked as a price resolver is, before any priced call meets it."""

from __future__ import annotations

from inspect import iscoroutinefunction

from psych_runtime.shapes import Shape, shape_fault

_PRICES = Shape(("price_for", "catalog"), "give a PriceResolver, such as StaticPriceTable({…})")


def fault_of_prices(prices: object) -> str | None:
    """What `prices` is in place of a PriceResolver, and what to write; None for one that can be asked."""
    if fault := shape_fault(prices, _PRICES):
        return fault
    if iscoroutinefunction(getattr(prices, "price_for", None)):
        return f"a {type(prices).__name__} whose price_for is async; write def price_for, it answers at once"
    return None

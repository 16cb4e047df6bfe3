"""Whether a consumer's object can be asked as a price resolver is, before any priced call meets it."""

from __future__ import annotations

from inspect import getattr_static, iscoroutinefunction

_NEEDED = ("price_for", "catalog")
_ABSENT = object()


def fault_of_prices(prices: object) -> str | None:
    """What `prices` is in place of a PriceResolver, and what to write; None for one that can be asked."""
    if isinstance(prices, type):
        return f"the class {prices.__name__}; give an instance: {prices.__name__}(…)"
    kind = type(prices).__name__
    # A catalog may be a property that reads all prices, so it is looked for and not read.
    absent = [name for name in _NEEDED if getattr_static(prices, name, _ABSENT) is _ABSENT]
    if absent:
        return f"a {kind} without {', '.join(absent)}; give a PriceResolver, such as StaticPriceTable"
    if iscoroutinefunction(getattr(prices, "price_for", None)):
        return f"a {kind} whose price_for is async; write def price_for, it answers at once"
    return None

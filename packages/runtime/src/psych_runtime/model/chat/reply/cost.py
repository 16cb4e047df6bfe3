"""What a provider says that a call cost, in US dollars, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from psych_runtime.model.numbers import amount_of
from psych_runtime.model.shapes import Object, members
from psych_runtime_core.usage import MONEY

COST_HEADER = "x-litellm-response-cost"

# A tick is 10⁻¹⁰ USD.
_TICK = Decimal("1e-10")


def cost_in(chunk: Object) -> Decimal | None:
    """The first cost in `chunk` that can be relied on; zero is one."""
    return next((amount for amount in map(amount_of, _stated(chunk)) if amount is not None), None)


def cost_in_headers(headers: Mapping[str, str]) -> Decimal | None:
    """What a gateway states in a header of its reply."""
    stated = (value for name, value in headers.items() if name.lower() == COST_HEADER)
    return amount_of(next(stated, None))


def _stated(chunk: Object) -> Iterator[object]:
    usage, hidden = members(chunk.get("usage")), members(chunk.get("_hidden_params"))
    for holder, key in ((usage, "cost"), (chunk, "cost"), (hidden, "response_cost")):
        yield holder.get(key)
        yield members(holder.get(key)).get("total_cost")
    ticks = amount_of(usage.get("cost_in_usd_ticks"))
    if ticks is not None:
        yield MONEY.multiply(ticks, _TICK)

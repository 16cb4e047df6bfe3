"""What a call cost: worked out from its tokens, or as its provider said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, Inexact

from psych_runtime_core.ports.prices import CostPolicy, ModelPrice, PriceResolver
from psych_runtime_core.usage import MONEY, Cost, Usage, summable

_AMOUNTS = ("amount", "input_amount", "output_amount", "cache_read_amount", "cache_write_amount")


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedCall:
    """A call as its price is asked for, made at `at`; `reported` is the cost that its provider states."""

    model: str
    at: datetime
    provider: str | None = None
    usage: Usage | None = None
    reported: Cost | None = None
    served_model: str | None = None
    tier: str | None = None


def resolve_cost(
    call: PricedCall, prices: PriceResolver | None, policy: CostPolicy = "prefer_provider"
) -> Cost | None:
    """The cost to record, by whose figure counts; None when it is not known, never 0."""
    reported = None if policy == "computed" else _reported(call)
    if reported is not None or policy == "provider_only" or prices is None:
        return reported
    return _computed(call, prices)


def compute_cost(usage: Usage | None, price: ModelPrice | None, model: str) -> Cost | None:
    """What these tokens cost, exactly.

    None without usage or price, and when tokens were used of a kind that has no rate. A detail that was left
    out is priced in what it is a part of, and reasoning is output.
    """
    if usage is None or price is None:
        return None
    try:
        cost = _cost(usage, price, model)
    except Inexact:
        # More tokens than any sum could hold the cost of.
        return None
    return None if cost is None else _summable(cost)


def _reported(call: PricedCall) -> Cost | None:
    cost = None if call.reported is None else _summable(call.reported)
    if cost is None or cost.model:
        return cost
    return cost.model_copy(update={"model": call.model})


def _computed(call: PricedCall, prices: PriceResolver) -> Cost | None:
    """By the id that was asked for, else by the one that was served."""
    for model in (call.model, call.served_model):
        if model is None:
            continue
        price = prices.price_for(model, provider=call.provider, at=call.at, tier=call.tier)
        if price is not None:
            cost = compute_cost(call.usage, price, model)
            return cost and cost.model_copy(update={"catalog": prices.catalog})
    return None


def _summable(cost: Cost) -> Cost | None:
    """The cost as the sums of a log can hold it; None for one that would make the log unreadable."""
    stated: dict[str, Decimal | None] = {name: getattr(cost, name) for name in _AMOUNTS}
    held = {name: summable(amount) for name, amount in stated.items() if amount is not None}
    return None if None in held.values() else cost.model_copy(update=held)


# --- the arithmetic -------------------------------------------------------------------------------------


def _cost(usage: Usage, price: ModelPrice, model: str) -> Cost | None:
    rates = price.rates(usage.prompt)
    input_audio = min(usage.input_audio or 0, usage.input)
    output_audio = min(usage.output_audio or 0, usage.output)
    written_1h = usage.cache_write_1h or 0
    written = max(usage.cache_write or 0, written_1h)
    parts = (
        _sum((usage.input - input_audio, rates.input), (input_audio, rates.input_audio)),
        _sum((usage.output - output_audio, rates.output), (output_audio, rates.output_audio)),
        _sum((usage.cache_read or 0, rates.cache_read)),
        _sum((written - written_1h, rates.cache_write), (written_1h, rates.cache_write_1h)),
    )
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    given, made, read, kept = known
    return Cost(
        amount=_total(known),
        currency=price.currency,
        model=model,
        input_amount=given,
        output_amount=made,
        cache_read_amount=read,
        cache_write_amount=kept,
    )


def _sum(*priced: tuple[int, Decimal | None]) -> Decimal | None:
    """Tokens at their rates; None when there are some without a rate."""
    used = [(tokens, rate) for tokens, rate in priced if tokens]
    amounts = [_amount(tokens, rate) for tokens, rate in used if rate is not None]
    return _total(amounts) if len(amounts) == len(used) else None


def _amount(tokens: int, rate: Decimal) -> Decimal:
    return MONEY.scaleb(MONEY.multiply(tokens, rate), -6)


def _total(amounts: list[Decimal]) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = MONEY.add(total, amount)
    return total

"""What models cost: prices per million tokens, and who knows them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal, Protocol, TypeAlias

# Whose figure is recorded: the provider's and else ours, ours alone, or the provider's alone.
CostPolicy: TypeAlias = Literal["prefer_provider", "computed", "provider_only"]
Rate: TypeAlias = Decimal | int | str


class PriceResolver(Protocol):
    """Knows what models cost. It answers at once: each priced call asks it."""

    @property
    def catalog(self) -> str | None:
        """The name and version of the prices, kept with each cost worked out from them."""
        ...

    def price_for(
        self, model: str, *, provider: str | None = None, at: datetime, tier: str | None = None
    ) -> ModelPrice | None:
        """What `model` costs at `provider` at a moment, in the service tier it was served in.

        None when that is not known: a guess would be recorded as a cost.
        """
        ...


@dataclass(frozen=True, init=False)
class _Rates:
    """What a million tokens of each kind cost; None is not known."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None
    cache_write: Decimal | None
    cache_write_1h: Decimal | None
    input_audio: Decimal | None
    output_audio: Decimal | None

    def _set_rates(self, **rates: Rate | None) -> None:
        for name, rate in rates.items():
            known = rate is not None or name in {"input", "output"}
            object.__setattr__(self, name, _rate(name, rate) if known else None)


@dataclass(frozen=True, init=False)
class PriceTier(_Rates):
    """The rates of a call with a longer prompt than `above_prompt_tokens`, for all of its tokens.

    A tier states all of its rates: one that is left out is not known above the threshold.
    """

    above_prompt_tokens: int

    def __init__(  # noqa: PLR0913 - the rates are the fields
        self,
        above_prompt_tokens: int,
        input: Rate,
        output: Rate,
        *,
        cache_read: Rate | None = None,
        cache_write: Rate | None = None,
        cache_write_1h: Rate | None = None,
        input_audio: Rate | None = None,
        output_audio: Rate | None = None,
    ) -> None:
        if isinstance(above_prompt_tokens, bool) or above_prompt_tokens < 0:
            raise ValueError(f"above_prompt_tokens is {above_prompt_tokens}; give 0 or more tokens")
        object.__setattr__(self, "above_prompt_tokens", above_prompt_tokens)
        self._set_rates(
            input=input,
            output=output,
            cache_read=cache_read,
            cache_write=cache_write,
            cache_write_1h=cache_write_1h,
            input_audio=input_audio,
            output_audio=output_audio,
        )


@dataclass(frozen=True, init=False)
class ModelPrice(_Rates):
    """What a million tokens of a model cost, each rate 0 or more, exactly as it was written.

    A rate that is None is not known, and a call that used such tokens has no cost. The highest of `tiers`
    that a prompt exceeds replaces all rates. Raises `TypeError` for a float, which is never what it says, and
    `ValueError` for what is no rate.
    """

    currency: str
    tiers: tuple[PriceTier, ...]

    def __init__(  # noqa: PLR0913 - the rates are the fields
        self,
        input: Rate,
        output: Rate,
        *,
        cache_read: Rate | None = None,
        cache_write: Rate | None = None,
        cache_write_1h: Rate | None = None,
        input_audio: Rate | None = None,
        output_audio: Rate | None = None,
        currency: str = "USD",
        tiers: Iterable[PriceTier] = (),
    ) -> None:
        self._set_rates(
            input=input,
            output=output,
            cache_read=cache_read,
            cache_write=cache_write,
            cache_write_1h=cache_write_1h,
            input_audio=input_audio,
            output_audio=output_audio,
        )
        if not re.fullmatch("[A-Z]{3}", currency):
            raise ValueError(f"{currency!r} is no currency; give its three letters, such as USD")
        object.__setattr__(self, "currency", currency)
        object.__setattr__(self, "tiers", _ascending(tiers))

    def rates(self, prompt_tokens: int) -> ModelPrice | PriceTier:
        """The rates of a call whose prompt has so many tokens."""
        exceeded = (tier for tier in reversed(self.tiers) if prompt_tokens > tier.above_prompt_tokens)
        return next(exceeded, self)


# Far beyond any price, in any currency; within these bounds a million costs add up exactly.
_TOO_MUCH, _DECIMALS = Decimal(10) ** 9, 30


def _rate(name: str, written: object) -> Decimal:
    if isinstance(written, bool) or not isinstance(written, Decimal | int | str):
        kind = type(written).__name__
        raise TypeError(f'{name} is a {kind}; give a Decimal, an int or a text, such as "2.50"')
    try:
        rate = Decimal(written)
    except InvalidOperation:
        raise ValueError(f'{name} is {written!r}; give a number, such as "2.50"') from None
    if not rate.is_finite() or not 0 <= rate < _TOO_MUCH:
        raise ValueError(f"{name} is {rate:.12g}; give 0 or more, and less than {_TOO_MUCH:,f}")
    if _decimals(rate) > _DECIMALS:
        raise ValueError(f"{name} has {_decimals(rate)} decimals; give at most {_DECIMALS}")
    return rate.copy_abs()


def _decimals(rate: Decimal) -> int:
    exponent = rate.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _ascending(tiers: Iterable[PriceTier]) -> tuple[PriceTier, ...]:
    ordered = tuple(sorted(tiers, key=lambda tier: tier.above_prompt_tokens))
    thresholds = [tier.above_prompt_tokens for tier in ordered]
    if len(set(thresholds)) < len(thresholds):
        raise ValueError(f"two tiers begin at one threshold, {thresholds}; give each its own")
    return ordered

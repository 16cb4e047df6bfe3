"""What a model call used and cost."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact
from typing import Annotated, Literal

from pydantic import Field

from psych_runtime_core.messages import MessageModel

Tokens = Annotated[int, Field(ge=0)]


class Usage(MessageModel):
    """Tokens of a call. `input` excludes cache reads and writes, `output` includes `reasoning`.

    None is "the provider did not say"; usage that nobody reported is no `Usage` at all.
    """

    input: Tokens
    output: Tokens
    cache_read: Tokens | None = None
    cache_write: Tokens | None = None
    cache_write_1h: Tokens | None = None
    reasoning: Tokens | None = None
    input_audio: Tokens | None = None
    output_audio: Tokens | None = None

    @property
    def prompt(self) -> int:
        return self.input + (self.cache_read or 0) + (self.cache_write or 0)

    @property
    def total(self) -> int:
        return self.prompt + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=_sum(self.cache_read, other.cache_read),
            cache_write=_sum(self.cache_write, other.cache_write),
            cache_write_1h=_sum(self.cache_write_1h, other.cache_write_1h),
            reasoning=_sum(self.reasoning, other.reasoning),
            input_audio=_sum(self.input_audio, other.input_audio),
            output_audio=_sum(self.output_audio, other.output_audio),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


# Exact or an error: 60 digits hold the sum of a million amounts within the bounds below.
MONEY = Context(prec=60, traps=[Inexact])
_WHOLE_DIGITS, _DECIMALS = 14, 40

CostSource = Literal["computed", "provider", "mixed"]
Amount = Annotated[Decimal, Field(ge=0)]


class Cost(MessageModel):
    """Money, exactly: never rounded. `source` says who worked it out: us, the provider, or both over calls.

    `catalog` names the prices it was computed from; the parts of `amount` are known where it was computed.
    """

    amount: Amount
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    model: str | None = None
    source: CostSource = "computed"
    catalog: str | None = None
    input_amount: Amount | None = None
    output_amount: Amount | None = None
    cache_read_amount: Amount | None = None
    cache_write_amount: Amount | None = None

    def __add__(self, other: Cost) -> Cost:
        """The sum; two currencies are a `ValueError`."""
        if other.currency != self.currency:
            raise ValueError(f"{self.currency} and {other.currency} cannot be added; total each apart")
        return Cost(
            amount=MONEY.add(self.amount, other.amount),
            currency=self.currency,
            model=_common(self.model, other.model),
            source=self.source if self.source == other.source else "mixed",
            catalog=_common(self.catalog, other.catalog),
            input_amount=_plus(self.input_amount, other.input_amount),
            output_amount=_plus(self.output_amount, other.output_amount),
            cache_read_amount=_plus(self.cache_read_amount, other.cache_read_amount),
            cache_write_amount=_plus(self.cache_write_amount, other.cache_write_amount),
        )


def summable(amount: Decimal) -> Decimal | None:
    """`amount`, if a log can sum a million such, else None. A zero of any exponent comes back plain."""
    if not amount:
        return Decimal(0)
    exponent = amount.as_tuple().exponent
    fits = isinstance(exponent, int) and exponent >= -_DECIMALS and amount.adjusted() < _WHOLE_DIGITS
    return amount if fits else None


def _common(a: str | None, b: str | None) -> str | None:
    return a if a == b else None


def _plus(a: Decimal | None, b: Decimal | None) -> Decimal | None:
    """A part of a sum is known only when it is known of both."""
    return None if a is None or b is None else MONEY.add(a, b)

"""A figure: what we cost against what we are measured by, round for round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Bound:
    """What a ratio may be."""

    limit: float
    least: bool = False

    def holds(self, ratio: float) -> bool:
        return ratio >= self.limit if self.least else ratio <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.limit:g}"


def at_most(limit: float) -> Bound:
    return Bound(limit)


def at_least(limit: float) -> Bound:
    return Bound(limit, least=True)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: the two sides of each round in `unit`, and the bound of their ratio, if there is one."""

    name: str
    unit: str
    ours: Sequence[float]
    against: Sequence[float]
    bound: Bound | None = None

    @property
    def ratios(self) -> tuple[float, ...]:
        """One a round: what slows the machine for a moment slows both sides of it."""
        return tuple(ours / against for ours, against in zip(self.ours, self.against, strict=True))

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def verdict(self) -> str:
        if self.bound is None:
            return "reported"
        return "holds" if self.bound.holds(self.ratio) else "missed"

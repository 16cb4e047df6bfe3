"""How often one place of a value is visited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import add

# Of more children than these the most visited one stands for all.
_MAX_NAMED = 64


@dataclass(frozen=True, slots=True)
class Spread:
    """Visits to the children of a value: to those named, and to any other."""

    named: Mapping[str | int, int] = field(default_factory=dict[str | int, int])
    other: int = 0

    def combined(self, more: Spread, how: Callable[[int, int], int]) -> Spread:
        """Both, number by number."""
        if not self.named and not more.named:
            return self if self.other == more.other == 0 else Spread({}, how(self.other, more.other))
        named = {
            name: how(self.named.get(name, self.other), more.named.get(name, more.other))
            for name in {**self.named, **more.named}
        }
        both = Spread(named, how(self.other, more.other))
        return both if len(named) <= _MAX_NAMED else Spread({}, both.most)

    @property
    def most(self) -> int:
        """Visits to the child that is visited most."""
        return max(self.other, max(self.named.values(), default=0))


@dataclass(frozen=True, slots=True)
class Visits:
    """Visits that one visit to a value leads to: to itself, and to any one place under each child."""

    here: int = 0
    members: Spread = field(default_factory=Spread)
    items: Spread = field(default_factory=Spread)

    def __add__(self, more: Visits) -> Visits:
        return self._combined(more, add)

    def __or__(self, more: Visits) -> Visits:
        """The most of either, where a value leads to one of the two."""
        return self._combined(more, max)

    def _combined(self, more: Visits, how: Callable[[int, int], int]) -> Visits:
        return Visits(
            how(self.here, more.here),
            self.members.combined(more.members, how),
            self.items.combined(more.items, how),
        )

    def by(self, kind: str) -> Visits:
        """The visits that a value of that type leads to."""
        members = self.members if kind == "object" else Spread()
        items = self.items if kind == "array" else Spread()
        return Visits(self.here, members, items)

    @property
    def most(self) -> int:
        """Visits to the place that is visited most."""
        return max(self.here, self.members.most, self.items.most)

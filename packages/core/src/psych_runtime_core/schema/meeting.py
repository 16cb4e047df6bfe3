"""Which schemas are applied to which places of a value: each kind of place is worked out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from psych_runtime_core.schema.asked import Asked, Asking, Identity, Kind, Lead
from psych_runtime_core.schema.budget import Budget
from psych_runtime_core.schema.reading import Reading, together
from psych_runtime_core.schema.weight import Unit

# More ways than any value may take.
_MANY = 10**18


@dataclass(frozen=True, slots=True)
class Names:
    """What is asked of the name of each member: the visits for any, and for its bytes."""

    visits: int
    reading: Reading


@dataclass(slots=True)
class Place:
    """What is asked of a value there by all that is applied to it, and what leads on from it."""

    asked: Sequence[tuple[Asked, int]]
    """Each by so many ways."""
    weights: Mapping[Unit, int]
    inside: Mapping[Unit, int]
    texts: Reading
    names: Names | None = None
    leads: dict[Kind, Sequence[tuple[Lead, int]]] = field(default_factory=dict[Any, Any])
    below: dict[tuple[Kind, str | int | None], Place] = field(default_factory=dict[Any, Any])


class Meeting:
    """The places are counted as upper bounds: every branch is entered, every pattern fits a name.

    To work one out takes a step for each schema, each way that leads on, and each rate of a reading.
    """

    def __init__(self, asking: Asking, steps: Budget) -> None:
        self._asking = asking
        self._steps = steps
        self._known: dict[frozenset[tuple[Identity, int]], Place] = {}

    def root(self) -> Place:
        """The place of a whole value."""
        return self._entered([([self._asking.root], 1)])

    def leads(self, place: Place, kind: Kind) -> Sequence[tuple[Lead, int]]:
        """What leads from `place` to such children."""
        if kind not in place.leads:
            self._steps.take(len(place.asked))
            place.leads[kind] = [
                (asked.leads[kind], ways) for asked, ways in place.asked if kind in asked.leads
            ]
        return place.leads[kind]

    def child(self, place: Place, kind: Kind, name: str | int) -> Place:
        """The place of one member or item of a value at `place`."""
        leads = self.leads(place, kind)
        self._steps.take(len(leads))
        key = (kind, name if any(name in lead.named for lead, _ in leads) else None)
        if key not in place.below:
            place.below[key] = self._entered((lead.to(key[1]), ways) for lead, ways in leads)
        return place.below[key]

    def names(self, place: Place) -> Names:
        """What is asked of the names of members at `place`."""
        if place.names is None:
            naming = self._entered((asked.naming, ways) for asked, ways in place.asked)
            own = self._together((asked.names, ways) for asked, ways in place.asked)
            place.names = Names(naming.weights["places"], together([(own, 1), (naming.texts, 1)]))
        return place.names

    def _entered(self, targets: Iterable[tuple[Sequence[Identity], int]]) -> Place:
        ways: Counter[Identity] = Counter()
        for each, often in targets:
            self._steps.take(1 + len(each))
            for identity in each:
                ways[identity] = min(_MANY, ways[identity] + often)
        key = frozenset(ways.items())
        if key not in self._known:
            self._known[key] = self._place(ways)
        return self._known[key]

    def _place(self, entered: Mapping[Identity, int]) -> Place:
        asked = self._closed(entered)
        found, inside = Counter[Unit](), Counter[Unit]()
        for each, ways in asked:
            self._steps.take(len(each.weights) + len(each.inside))
            for unit, weight in each.weights.items():
                found[unit] += ways * weight
            for unit, weight in each.inside.items():
                inside[unit] += ways * weight
        return Place(asked, found, inside, self._together((each.texts, ways) for each, ways in asked))

    def _closed(self, entered: Mapping[Identity, int]) -> Sequence[tuple[Asked, int]]:
        """With all that is applied to the same value."""
        ways = dict(entered)
        left = sorted((self._asking.rank[each], each) for each in entered)
        closed: list[tuple[Asked, int]] = []
        while left:
            _, identity = heappop(left)
            asked, often = self._asking.of(identity), ways[identity]
            closed.append((asked, often))
            self._steps.take(1 + len(asked.here))
            for target in asked.here:
                if target not in ways:
                    heappush(left, (self._asking.rank[target], target))
                ways[target] = min(_MANY, ways.get(target, 0) + often)
        # What `unevaluated…` has to leave out is asked for once more, at most by each part around it.
        marking = sum(asked.is_marking for asked, _ in closed)
        again = min(_MANY, (1 + len(closed)) ** min(marking, _MANY.bit_length()))
        return [(asked, min(_MANY, again * often)) for asked, often in closed]

    def _together(self, readings: Iterable[tuple[Reading, int]]) -> Reading:
        return together(self._counted(readings))

    def _counted(self, readings: Iterable[tuple[Reading, int]]) -> Iterator[tuple[Reading, int]]:
        for reading, often in readings:
            self._steps.take(len(reading.rates))
            yield reading, often

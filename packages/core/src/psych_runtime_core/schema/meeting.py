"""Which schemas of a survey are applied to which places of a value: each kind of place is worked out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Literal, TypeAlias

from psych_runtime_core.schema.document import Schema
from psych_runtime_core.schema.survey import Survey
from psych_runtime_core.schema.weight import Unit, looks_inside, patterns_of

Kind: TypeAlias = Literal["member", "item"]
_Ways: TypeAlias = Counter[int]


@dataclass(slots=True)
class Place:
    """What is asked of a value there, and what leads on from it."""

    ways: dict[int, int]
    weights: Counter[Unit] = field(default_factory=Counter[Unit])
    inside: Counter[Unit] = field(default_factory=Counter[Unit])
    """The weights by all that the value holds, not by itself alone."""
    patterns: Counter[str] = field(default_factory=Counter[str])
    names: Counter[str] = field(default_factory=Counter[str])
    """The patterns that read the names of its members."""
    naming: Place | None = None
    """What else is asked of the names."""
    below: dict[tuple[Kind, str | int | None], Place] = field(default_factory=dict[Any, "Place"])


@dataclass(slots=True)
class _Led:
    """What one schema applies to the children of a value: to those named, to others, and to each."""

    named: dict[str | int, list[Schema]] = field(default_factory=dict[str | int, list[Schema]])
    other: list[Schema] = field(default_factory=list[Schema])
    every: list[Schema] = field(default_factory=list[Schema])

    def to(self, name: str | int | None) -> Iterable[Schema]:
        yield from self.every
        yield from self.other if name is None else self.named.get(name, self.other)


class Meeting:
    """The places are counted as upper bounds: every branch is entered, every pattern fits a name."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._schemas = {id(schema): schema for schema in survey.whole.order}
        # Each comes before all that it leads to at the same value.
        self._rank = {id(schema): -index for index, schema in enumerate(survey.still.order)}
        self._known: dict[frozenset[tuple[int, int]], Place] = {}
        self._leads: dict[tuple[int, Kind], _Led] = {}
        self.steps = 0
        """What working it out took so far."""

    def root(self) -> Place:
        """The place of a whole value."""
        return self._place(Counter({id(self._survey.whole.order[-1]): 1}))

    def child(self, place: Place, kind: Kind, name: str | int) -> Place:
        """The place of one member or item of a value at `place`."""
        leads = [(self._lead(each, kind), ways) for each, ways in place.ways.items()]
        key = (kind, name if any(name in lead.named for lead, _ in leads) else None)
        if key not in place.below:
            entered: _Ways = Counter()
            for lead, ways in leads:
                _enter(entered, lead.to(key[1]), ways)
            place.below[key] = self._place(entered)
        return place.below[key]

    def _place(self, entered: _Ways) -> Place:
        key = frozenset(entered.items())
        if key not in self._known:
            self._known[key] = self._worked_out(entered)
        return self._known[key]

    def _worked_out(self, entered: _Ways) -> Place:
        ways = self._closed(entered)
        names: _Ways = Counter()
        for each, often in ways.items():
            applied = self._survey.applied(self._schemas[each])
            _enter(names, [one.target for one in applied if one.place == "name"], often)
        place = Place(ways, naming=self._place(names) if names else None)
        for each, often in ways.items():
            self._weigh(place, self._schemas[each], each, often)
        return place

    def _weigh(self, place: Place, schema: Mapping[str, Any], each: int, often: int) -> None:
        own = self._survey.weights_of(each)
        for unit, weight in own.items():
            place.weights[unit] += often * weight
            if looks_inside(schema):
                place.inside[unit] += often * weight
        read, names = patterns_of(schema)
        for pattern in read:
            place.patterns[pattern] += often
        for pattern in names:
            place.names[pattern] += 2 * often

    def _closed(self, entered: _Ways) -> dict[int, int]:
        """With all that is applied to the same value."""
        ways = Counter(entered)
        left = sorted((self._rank[each], each) for each in entered)
        marked = 0
        closed: dict[int, int] = {}
        while left:
            _, each = heappop(left)
            closed[each] = ways[each]
            applied = self._survey.applied(self._schemas[each])
            marked += any(one.keyword.startswith("unevaluated") for one in applied)
            self.steps += 1 + len(applied)
            for one in applied:
                target = id(one.target)
                if one.place in ("here", "branch") and target in self._schemas:
                    if target not in ways:
                        heappush(left, (self._rank[target], target))
                    ways[target] += ways[each]
        # What `unevaluated…` has to leave out is asked for once more, at most by each part around it.
        again: int = (1 + len(closed)) ** marked
        return {each: again * often for each, often in closed.items()}

    def _lead(self, each: int, kind: Kind) -> _Led:
        if (each, kind) not in self._leads:
            lead = self._leads[each, kind] = _Led()
            for one in self._survey.applied(self._schemas[each]):
                if one.place == kind:
                    lead.named.setdefault(one.name, []).append(one.target)
                elif one.place == f"other {kind}s":
                    lead.other.append(one.target)
                elif one.place == f"each {kind}":
                    lead.every.append(one.target)
        return self._leads[each, kind]


def _enter(entered: _Ways, targets: Iterable[Schema], ways: int) -> None:
    for target in targets:
        if not isinstance(target, bool):
            entered[id(target)] += ways

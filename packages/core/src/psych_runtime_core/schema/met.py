"""What judging one value costs beyond its visits, by what of it each schema really meets."""

from collections.abc import Iterable

from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.schema.asked import Asking, Kind
from psych_runtime_core.schema.budget import Budget, Spent
from psych_runtime_core.schema.meeting import Meeting, Place
from psych_runtime_core.schema.size import Amounts, extent, is_plain
from psych_runtime_core.schema.weight import Unit

# A step takes one to three microseconds.
MAX_STEPS = 100_000
# So many bytes are written and read once more in the time of a step.
_BYTES_A_STEP = 16
# So many places are counted.
_PLACES_A_STEP = 8
# Places are counted up to this part of what the schema lists, then taken as all of it: a step of counting
# costs as much as five hundred visits.
_COUNTED = 64
_OF_NUMBERS: tuple[Unit, ...] = ("integers", "numbers", "digits")
_INSIDE: tuple[Unit, ...] = (*_OF_NUMBERS, "parts", "pairs")


def met(asking: Asking, value: Json, most: int) -> int | None:
    """The visits that it comes to; `None` if they are more than `most`, or to tell would take as long."""
    visits = Budget(most)
    try:
        _Met(asking, visits, Budget(MAX_STEPS)).follow(value)
    except Spent:
        return None
    return most - visits.left


class _Met:
    def __init__(self, asking: Asking, visits: Budget, steps: Budget) -> None:
        self._meeting = Meeting(asking, steps)
        self._visits = visits
        self._steps = steps

    def follow(self, value: Json) -> None:
        left: list[tuple[Place, Json]] = [(self._meeting.root(), value)]
        while left:
            place, held = left.pop()
            self._steps.take()
            if isinstance(held, dict):
                self._container(place, held)
                self._names(place, held)
                left += self._children(place, "member", held.items())
            elif isinstance(held, list):
                self._container(place, held)
                left += self._children(place, "item", enumerate(held))
            else:
                self._scalar(place, held)

    def _children(
        self, place: Place, kind: Kind, held: Iterable[tuple[str | int, Json]]
    ) -> Iterable[tuple[Place, Json]]:
        for name, item in held if self._meeting.leads(place, kind) else ():
            child = self._meeting.child(place, kind, name)
            if child.asked:
                yield child, item

    def _names(self, place: Place, held: dict[str, Json]) -> None:
        names = self._meeting.names(place)
        for name in held if names.visits or names.reading.a_byte else ():
            self._steps.take()
            self._visits.take(names.visits + names.reading.of(len(name.encode())))

    def _container(self, place: Place, held: dict[str, Json] | list[Json]) -> None:
        self._visits.take(place.weights["places"] * (1 + len(held)))
        self._compare(place, held)
        if any(place.inside[unit] for unit in _INSIDE):
            canonical = encode_json(held)
            self._steps.take(len(canonical) // _BYTES_A_STEP)
            amounts = Amounts(canonical)
            self._visits.take(sum(place.inside[unit] * getattr(amounts, unit) for unit in _INSIDE))

    def _scalar(self, place: Place, held: Json) -> None:
        self._visits.take(place.weights["places"])
        self._compare(place, held)
        if isinstance(held, str):
            self._visits.take(place.texts.of(len(held.encode())))
        elif is_plain(held):
            self._visits.take(place.weights["integers"])
        elif isinstance(held, int | float) and any(place.weights[unit] for unit in _OF_NUMBERS):
            amounts = Amounts(encode_json(held))
            self._visits.take(sum(place.weights[unit] * getattr(amounts, unit) for unit in _OF_NUMBERS))

    def _compare(self, place: Place, held: Json) -> None:
        """Two values are compared as far as the smaller one goes."""
        options, listed = place.weights["options"], place.weights["listed"]
        most = listed // _COUNTED
        size = extent(held, most) if most else 0
        self._steps.take(min(size, most) // _PLACES_A_STEP)
        self._visits.take(options + (listed if size > most else min(listed, options * size)))

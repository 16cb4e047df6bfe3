"""What judging one value costs beyond its visits, by what of it each schema really meets."""

from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.schema.meeting import Meeting, Place
from psych_runtime_core.schema.size import Amounts, is_plain
from psych_runtime_core.schema.survey import Survey
from psych_runtime_core.schema.weight import Sizes, Unit, reading

# A step takes some three microseconds.
MAX_STEPS = 100_000
# So many bytes are written and read once more in the time of a step.
_BYTES_A_STEP = 16
_OF_NUMBERS: tuple[Unit, ...] = ("integers", "numbers", "digits")
_INSIDE: tuple[Unit, ...] = (*_OF_NUMBERS, "parts", "pairs")


def met(survey: Survey, sizes: Sizes, value: Json, most: int) -> int | None:
    """The visits that it comes to, or more than `most`; `None` if to tell would take as long."""
    return _Met(survey, sizes).cost(value, most)


class _Met:
    def __init__(self, survey: Survey, sizes: Sizes) -> None:
        self._meeting = Meeting(survey)
        self._sizes = sizes
        self._spent = 0

    def cost(self, value: Json, most: int) -> int | None:
        left: list[tuple[Place, Json]] = [(self._meeting.root(), value)]
        while left and self._spent <= most:
            place, held = left.pop()
            self._meeting.steps += self._steps(place, held)
            if self._meeting.steps > MAX_STEPS:
                return None
            if isinstance(held, dict):
                self._container(place, held)
                self._names(place, held)
                children = [(self._meeting.child(place, "member", name), item) for name, item in held.items()]
            elif isinstance(held, list):
                self._container(place, held)
                children = [
                    (self._meeting.child(place, "item", index), item) for index, item in enumerate(held)
                ]
            else:
                self._scalar(place, held)
                continue
            left += (each for each in children if each[0].ways)
        return self._spent

    def _steps(self, place: Place, held: Json) -> int:
        """What one place takes, told before it is taken."""
        if isinstance(held, dict):
            return 1 + len(held) * (len(place.ways) + len(place.names))
        if isinstance(held, list):
            return 1 + len(held) * len(place.ways)
        return 1 + len(place.patterns)

    def _names(self, place: Place, held: dict[str, Json]) -> None:
        for name in held if place.names or place.naming else ():
            self._read(place.names, name)
            if place.naming is not None:
                self._scalar(place.naming, name)

    def _container(self, place: Place, held: dict[str, Json] | list[Json]) -> None:
        self._spent += place.weights["places"] * (1 + len(held))
        if any(place.inside[unit] for unit in _INSIDE):
            canonical = encode_json(held)
            self._meeting.steps += len(canonical) // _BYTES_A_STEP
            amounts = Amounts(canonical)
            self._spent += sum(place.inside[unit] * getattr(amounts, unit) for unit in _INSIDE)

    def _scalar(self, place: Place, held: Json) -> None:
        self._spent += place.weights["places"]
        if isinstance(held, str):
            self._read(place.patterns, held)
        elif is_plain(held):
            self._spent += place.weights["integers"]
        elif isinstance(held, int | float) and any(place.weights[unit] for unit in _OF_NUMBERS):
            amounts = Amounts(encode_json(held))
            self._spent += sum(place.weights[unit] * getattr(amounts, unit) for unit in _OF_NUMBERS)

    def _read(self, patterns: dict[str, int], text: str) -> None:
        length = len(text.encode())
        for pattern, often in patterns.items():
            self._spent += often * reading(pattern, self._sizes, length)

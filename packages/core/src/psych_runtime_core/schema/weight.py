"""What the keywords of a schema cost beyond a visit, by what of a value they cost it for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.schema.reading import Reading, Readings, together
from psych_runtime_core.schema.size import BYTES_A_VISIT, is_plain, places, square, written

Unit: TypeAlias = Literal[
    "visits", "places", "options", "listed", "text", "integers", "numbers", "digits", "parts", "pairs"
]
"""What work is counted by: `Amounts` has how much of it there is in a value."""
_Weighed: TypeAlias = Iterator[tuple[Unit, int]]

# The judge compares numbers as fractions of any length unless both are integers of 64 bits.
_FRACTION = 250
# What it takes to compare two numbers by their digits, it takes so often to divide one by the other.
_MULTIPLE = 4
# A value is compared with another one.
_OPTION = 2
_HASH = 8
# A name is read by a pattern once more for what `additionalProperties` has to leave out.
_NAMED = 2
_UNREAD = Reading()


def weights(schema: Mapping[str, Any], readings: Readings) -> dict[Unit, int]:
    """The visits that each unit of a value costs which `schema` is applied to."""
    found: dict[Unit, int] = {}
    for keyword, held in schema.items():
        if keyword in _BY_KEYWORD:
            for unit, weight in _BY_KEYWORD[keyword](held, readings):
                found[unit] = found.get(unit, 0) + weight
    return {unit: weight for unit, weight in found.items() if weight}


def looks_inside(schema: Mapping[str, Any]) -> bool:
    """Whether a keyword of `schema` compares a value by all that it holds."""
    listed: Json = schema.get("enum")
    values: list[Json] = [*(listed if isinstance(listed, list) else ()), schema.get("const")]
    return schema.get("uniqueItems") is True or any(isinstance(each, Mapping | list) for each in values)


def of_texts(pattern: Json, readings: Readings) -> Reading:
    """What reading a text costs by what a schema has for `pattern`."""
    return readings.get(pattern, _UNREAD) if isinstance(pattern, str) else _UNREAD


def of_names(patterns: Json, readings: Readings) -> Reading:
    """What reading the name of a member costs by what a schema has for `patternProperties`."""
    names = patterns if isinstance(patterns, Mapping) else ()
    return together((of_texts(name, readings), _NAMED) for name in names)


def _enum(held: Json, _readings: Readings) -> _Weighed:
    values = held if isinstance(held, list) else []
    # Where all are of one such kind, the judge looks a value up.
    if not all(isinstance(value, str) for value in values) and not all(map(is_plain, values)):
        yield from _options(values)
    yield from _compared(values)


def _const(held: Json, _readings: Readings) -> _Weighed:
    if isinstance(held, Mapping | list):
        yield from _options([held])
    yield from _compared([held])


def _options(values: Sequence[Json]) -> _Weighed:
    """A value meets each of them once, and what it holds what that holds, if there is as much."""
    yield "options", _OPTION * len(values)
    held = sum(map(places, values)) - len(values)
    yield "listed", _OPTION * held + len(encode_json(values)) // BYTES_A_VISIT


def _bound(held: Json, _readings: Readings) -> _Weighed:
    yield "digits", 1
    if not is_plain(held):
        yield from _compared([held])


def _multiple(held: Json, _readings: Readings) -> _Weighed:
    yield from _compared([held], _MULTIPLE)


def _type(held: Json, _readings: Readings) -> _Weighed:
    names = held if isinstance(held, list) else [held]
    if "number" in names or "integer" in names:
        yield "digits", 1


def _pattern(held: Json, readings: Readings) -> _Weighed:
    yield "text", of_texts(held, readings).a_byte


def _pattern_properties(held: Json, readings: Readings) -> _Weighed:
    if isinstance(held, Mapping):
        yield "places", _NAMED * len(held)
        yield "text", of_names(held, readings).a_byte


def _dependent(held: Json, _readings: Readings) -> _Weighed:
    if isinstance(held, Mapping):
        yield "places", sum(1 + (len(each) if isinstance(each, list) else 0) for each in held.values())


def _unique(held: Json, _readings: Readings) -> _Weighed:
    if held is True:
        yield "parts", _HASH
        yield "pairs", 1


def _compared(values: Sequence[Json], times: int = 1) -> _Weighed:
    """A number of an instance meets one number at a time of each of `values` that is one, or holds some; so
    many `times` what lies in their digits.
    """
    holding = [numbers for value in values if (numbers := list(_numbers(value)))]
    long = [number for numbers in holding for number in numbers if not is_plain(number)]
    weight = _FRACTION + times * max((square(written(repr(number).encode())) for number in long), default=0)
    yield "digits", times * len(holding)
    yield "numbers", weight * len(holding)
    yield "integers", weight * sum(not all(map(is_plain, numbers)) for numbers in holding)


def _numbers(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


_BY_KEYWORD: Mapping[str, Callable[[Json, Readings], _Weighed]] = {
    "const": _const,
    "dependencies": _dependent,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "enum": _enum,
    "exclusiveMaximum": _bound,
    "exclusiveMinimum": _bound,
    "maximum": _bound,
    "minimum": _bound,
    "multipleOf": _multiple,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "type": _type,
    "uniqueItems": _unique,
}

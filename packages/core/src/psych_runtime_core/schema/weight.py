"""What the keywords of a schema cost beyond a visit, by what of a value they cost it for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from psych_runtime_core.jsonvalue import Json, encode_json
from psych_runtime_core.schema.size import BYTES_A_VISIT, is_plain, places, square, written
from psych_runtime_core.schema.states import passed, states

Unit: TypeAlias = Literal["visits", "places", "text", "integers", "numbers", "digits", "parts", "pairs"]
"""What work is counted by: `Amounts` has how much of it there is in a value."""
Sizes: TypeAlias = Mapping[str, int]
"""The patterns of a schema, and the bytes they have once they are compiled."""
_Weighed: TypeAlias = Iterator[tuple[Unit, int]]

# A pattern that is not looked into and has so many bytes reads a byte in the time of a visit, at the worst.
_PATTERN_BYTES_A_VISIT = 64
# To be at one place of a pattern for one byte takes it twelve nanoseconds, of a strange one fifty.
_STATE = 2
# The judge compares numbers as fractions of any length unless both are integers of 64 bits.
_FRACTION = 250
_MULTIPLE = 4
_HASH = 8


def weights(schema: Mapping[str, Any], sizes: Sizes) -> dict[Unit, int]:
    """The visits that each unit of a value costs which `schema` is applied to."""
    found: dict[Unit, int] = {}
    for keyword, held in schema.items():
        if keyword in _BY_KEYWORD:
            for unit, weight in _BY_KEYWORD[keyword](held, sizes):
                found[unit] = found.get(unit, 0) + weight
    return {unit: weight for unit, weight in found.items() if weight}


def looks_inside(schema: Mapping[str, Any]) -> bool:
    """Whether a keyword of `schema` compares a value by all that it holds."""
    listed: Json = schema.get("enum")
    values: list[Json] = [*(listed if isinstance(listed, list) else ()), schema.get("const")]
    return schema.get("uniqueItems") is True or any(isinstance(each, Mapping | list) for each in values)


def patterns_of(schema: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The patterns by which `schema` reads a text, and the names of members."""
    pattern, names = schema.get("pattern"), schema.get("patternProperties")
    return [pattern] if isinstance(pattern, str) else [], [*names] if isinstance(names, Mapping) else []


def _enum(held: Json, _sizes: Sizes) -> _Weighed:
    values = held if isinstance(held, list) else []
    # Where all are of one such kind, the judge looks a value up.
    if not all(isinstance(value, str) for value in values) and not all(map(is_plain, values)):
        yield "places", 2 * (places(values) - 1) + len(encode_json(values)) // BYTES_A_VISIT
    yield from _compared(values)


def _const(held: Json, _sizes: Sizes) -> _Weighed:
    yield "places", 2 * places(held) - 2
    yield from _compared([held])


def _bound(held: Json, _sizes: Sizes) -> _Weighed:
    yield "digits", 1
    if not is_plain(held):
        yield from _compared([held])


def _multiple(held: Json, _sizes: Sizes) -> _Weighed:
    for unit, weight in _compared([held]):
        yield unit, _MULTIPLE * weight


def _type(held: Json, _sizes: Sizes) -> _Weighed:
    names = held if isinstance(held, list) else [held]
    if "number" in names or "integer" in names:
        yield "digits", 1


def _pattern(held: Json, sizes: Sizes) -> _Weighed:
    if isinstance(held, str):
        yield "text", _a_byte(held, sizes)


def _pattern_properties(held: Json, sizes: Sizes) -> _Weighed:
    # They are asked once more for what `additionalProperties` has to leave out.
    if isinstance(held, Mapping):
        yield "places", 2 * len(held)
        yield "text", 2 * sum(_a_byte(pattern, sizes) for pattern in held)


def _dependent(held: Json, _sizes: Sizes) -> _Weighed:
    if isinstance(held, Mapping):
        yield "places", sum(1 + (len(each) if isinstance(each, list) else 0) for each in held.values())


def _unique(held: Json, _sizes: Sizes) -> _Weighed:
    if held is True:
        yield "parts", _HASH
        yield "pairs", 1


def reading(pattern: str, sizes: Sizes, length: int) -> int:
    """The visits that it takes to read a text of `length` bytes."""
    places_passed = passed(pattern, length)
    if places_passed is None:
        return length * _unknown(pattern, sizes)
    return int(_STATE * places_passed)


def _a_byte(pattern: str, sizes: Sizes) -> int:
    """The visits that it takes to read one byte, wherever it stands."""
    known = states(pattern)
    return _unknown(pattern, sizes) if known is None else int(_STATE * known)


def _unknown(pattern: str, sizes: Sizes) -> int:
    return sizes.get(pattern, 0) // _PATTERN_BYTES_A_VISIT


def _compared(values: Sequence[Json]) -> _Weighed:
    """A number of an instance meets one number at a time of each of `values` that is one, or holds some."""
    holding = [numbers for value in values if (numbers := list(_numbers(value)))]
    long = [number for numbers in holding for number in numbers if not is_plain(number)]
    weight = _FRACTION + max((square(written(repr(number).encode())) for number in long), default=0)
    yield "digits", len(holding)
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


_BY_KEYWORD: Mapping[str, Callable[[Json, Sizes], _Weighed]] = {
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

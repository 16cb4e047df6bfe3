"""What judging by a schema costs at most, before any value is seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psych_runtime_core.schema.counting import Counted, Own
from psych_runtime_core.schema.document import Schema
from psych_runtime_core.schema.reading import Readings
from psych_runtime_core.schema.recursion import goes_one_way
from psych_runtime_core.schema.survey import Survey, only
from psych_runtime_core.schema.walk import Applied, walk
from psych_runtime_core.schema.weight import Unit

# One place of a value is then judged in some ten milliseconds.
MAX_WAYS = 10_000
# As many visits, for a value of one place: some fifty milliseconds.
MAX_WEIGHT = 5_000_000
_OF_ONE_PLACE: Mapping[Unit, int] = {
    **dict[Unit, int].fromkeys(("places", "options", "listed", "integers", "numbers", "parts"), 1),
    "text": 100,
}
# The judge keeps what it found about a container if it came by so many references for it.
_KEPT_FROM = 16
# As deep as a value can be.
_DEEPEST = 128


@dataclass(frozen=True, slots=True)
class Load:
    """How often the judge visits one place of a value, at most."""

    schemas: int
    """How many schemas there are."""
    most: int
    """By way of one schema. The judge keeps what it found where a reference closes a circle; between two
    such places all ways multiply."""
    usual: Mapping[Unit, int]
    """By way of all schemas, and what that costs for each unit beyond the visit."""
    blind: Mapping[Unit, int]
    """The same for a value with a tag that the judge cannot look up."""
    tags: frozenset[str]
    told: int | None
    """While errors are collected, or `None` if the visits multiply at each level of the value."""
    said: int
    """The bytes of the longest piece of the schema that an error repeats."""


def bounded(root: Mapping[str, Any], readings: Readings) -> Load:
    """What judging by `root` costs; a `ValueError`, which says what to write instead, if that is too much."""
    found = load_of(root, readings)
    if found.most > MAX_WAYS + found.schemas:
        raise ValueError(
            f"a value can be judged in more than {MAX_WAYS:,} ways, since alternatives and references "
            "multiply: let a type, or a const in a required property, tell the alternatives apart"
        )
    if sum(found.usual.get(unit, 0) * amount for unit, amount in _OF_ONE_PLACE.items()) > MAX_WEIGHT:
        raise ValueError(
            "one string, number or object takes too long to judge: write fewer patterns, with less counted "
            "repetition, and fewer values into an enum that are neither all strings nor all integers"
        )
    return found


def load_of(root: Mapping[str, Any], readings: Readings) -> Load:
    """What judging by `root` costs; a `ValueError` if it has no end."""
    survey = Survey(root, readings)
    # A scalar is judged anew however often it is met, so nothing is kept on the ways that stay at a value.
    at_scalars = Counted(survey.still, survey.here, survey.groups(tagged=False), _visit).most
    most, usual = _by_unit(survey, at_scalars, tagged=True)
    return Load(
        schemas=len(survey.whole.order),
        most=max(most, at_scalars),
        usual=usual,
        blind=_by_unit(survey, at_scalars, tagged=False)[1] if survey.tags else usual,
        tags=survey.tags,
        told=_told(root, survey.applied),
        said=survey.longest,
    )


def weighed(survey: Survey, own: Own, *, tagged: bool) -> int:
    """What the ways of all schemas to one place come to, at most, if each visit counts as its `own`."""
    counted = Counted(survey.whole, survey.applied, survey.groups(tagged=tagged), own, closing=0).total
    return counted * _together(survey, tagged=tagged, scalars=True)


def _by_unit(survey: Survey, at_scalars: int, *, tagged: bool) -> tuple[int, dict[Unit, int]]:
    """The visits to one place by way of one schema, and of all, and what is weighed beside them."""
    counted = Counted(survey.whole, survey.applied, survey.groups(tagged=tagged), _visit)
    work: dict[Unit, int] = {
        unit: weighed(survey, survey.own(unit), tagged=tagged) * _levels(survey, unit)
        for unit in survey.units
    }
    work["visits"] = counted.total * _together(survey, tagged=tagged) + at_scalars
    return counted.most, work


def _together(survey: Survey, *, tagged: bool, scalars: bool = False) -> int:
    """How often one place is entered anew: several references come to it before the judge keeps what it
    found about a container, and nothing is kept about a scalar in it.
    """
    if not survey.whole.closing:
        return 1
    counted = Counted(survey.whole, survey.applied, survey.groups(tagged=tagged), _nothing)
    together = max(1, counted.most)
    return min(_KEPT_FROM, together) * (together if scalars else 1)


def _levels(survey: Survey, unit: Unit) -> int:
    """How often one part is hashed: with each container around it that holds no two equal items."""
    if unit not in ("parts", "pairs"):
        return 1
    return _DEEPEST if survey.whole.closing else min(_DEEPEST, survey.weighing(unit))


def _told(root: Mapping[str, Any], applied: Applied) -> int | None:
    told = only(applied, lambda each: each.told)
    whole = walk([root], told)
    if not goes_one_way(whole, told):
        return None
    # A branch is not entered, but an error is made of each.
    counted = only(applied, lambda each: each.told or each.place == "branch")
    here = only(told, lambda each: each.place == "here")
    still = walk(whole.order, here)
    counts = (Counted(whole, counted, _no_groups, _visit), Counted(still, here, _no_groups, _visit))
    return max(each.most for each in counts)


def _visit(_schema: Schema) -> int:
    return 1


def _nothing(_schema: Schema) -> int:
    return 0


def _no_groups(_branches: Sequence[Schema]) -> Sequence[tuple[str, Sequence[int]]]:
    return []

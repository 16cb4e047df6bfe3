"""What judging by a schema costs at most, before any value is seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from psych_runtime_core.schema.alternatives import groups, tag_of
from psych_runtime_core.schema.applied import Application, applications
from psych_runtime_core.schema.counting import Counted, Groups
from psych_runtime_core.schema.document import Document, Schema
from psych_runtime_core.schema.recursion import goes_one_way
from psych_runtime_core.schema.walk import Applied, Walk, walk

# One place of a value is then judged in some ten milliseconds.
MAX_WAYS = 10_000
# The judge keeps what it found about a container if it came by so many references for it.
_KEPT_FROM = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """How often the judge visits one place of a value, at most."""

    schemas: int
    """How many schemas there are."""
    most: int
    """By way of one schema. The judge keeps what it found where a reference closes a circle; between two
    such places all ways multiply."""
    total: int
    """By way of all schemas."""
    untagged: int
    """The same for a value with a tag that the judge cannot look up."""
    tags: frozenset[str]
    told: int | None
    """While errors are collected, or `None` if the visits multiply at each level of the value."""


def bounded(root: Mapping[str, Any]) -> Cost:
    """What judging by `root` costs; a `ValueError`, which says what to write instead, if that is too much."""
    found = cost(root)
    if found.most > MAX_WAYS + found.schemas:
        raise ValueError(
            f"a value can be judged in more than {MAX_WAYS:,} ways, since alternatives and references "
            "multiply: let a type, or a const in a required property, tell the alternatives apart"
        )
    return found


def cost(root: Mapping[str, Any]) -> Cost:
    """What judging by `root` costs; a `ValueError` if it has no end."""
    document = Document(root)
    known: dict[int, list[Application]] = {}

    def applied(schema: Mapping[str, Any]) -> Sequence[Application]:
        if id(schema) not in known:
            known[id(schema)] = list(applications(document, schema))
        return known[id(schema)]

    whole = walk([root], applied)
    here = _only(applied, lambda each: each.place in ("here", "branch"))
    still = walk(whole.order, here)
    if still.closing:
        raise ValueError("a reference leads back to its own place: let it go into the value first")
    tags = _tags(document, whole.order)
    tagged = partial(groups, document, tagged=True)
    untagged = partial(groups, document, tagged=False)
    # A scalar is judged anew however often it is met, so nothing is kept on the ways that stay at a value.
    at_scalars = Counted(still, here, untagged).most
    most, total = _ways(whole, applied, tagged)
    _, total_untagged = _ways(whole, applied, untagged) if tags else (most, total)
    return Cost(
        schemas=len(whole.order),
        most=max(most, at_scalars),
        total=total + at_scalars,
        untagged=total_untagged + at_scalars,
        tags=tags,
        told=_told(root, applied),
    )


def _ways(whole: Walk, applied: Applied, groups: Groups) -> tuple[int, int]:
    """The visits to one place by way of one schema, and of all."""
    counted = Counted(whole, applied, groups)
    if not whole.closing:
        return counted.most, counted.total
    # Several references come to one container before the judge keeps what it found about it.
    together = Counted(whole, applied, groups, itself=0).most
    return counted.most, counted.total * max(1, min(_KEPT_FROM, together))


def _told(root: Mapping[str, Any], applied: Applied) -> int | None:
    told = _only(applied, lambda each: each.told)
    whole = walk([root], told)
    if not goes_one_way(whole, told):
        return None
    # A branch is not entered, but an error is made of each.
    counted = _only(applied, lambda each: each.told or each.place == "branch")
    here = _only(told, lambda each: each.place == "here")
    still = walk(whole.order, here)
    return max(Counted(whole, counted, _none).most, Counted(still, here, _none).most)


def _only(applied: Applied, wanted: Callable[[Application], bool]) -> Applied:
    return lambda schema: [each for each in applied(schema) if wanted(each)]


def _none(_branches: Sequence[Schema]) -> Sequence[tuple[str, Sequence[int]]]:
    return []


def _tags(document: Document, schemas: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    branches = (schema[keyword] for schema in schemas for keyword in ("anyOf", "oneOf") if keyword in schema)
    return frozenset(tag for each in branches if (tag := tag_of(document, each)) is not None)

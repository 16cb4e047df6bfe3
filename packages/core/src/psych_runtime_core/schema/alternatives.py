"""Which branches of `anyOf` or `oneOf` one value can make the judge enter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psych_runtime_core.schema.document import Document, Schema

_TYPES = frozenset({"array", "boolean", "null", "number", "object", "string"})
# With fewer branches the judge looks into each, whatever tells them apart.
_FEWEST_DISPATCHED = 3
# The judge looks no further for what tells branches apart.
_MAX_DEPTH = 16
# Where telling them apart would take more, each is counted as entered: that is never too few.
_MOST_TOLD_APART = 20_000


def groups(
    document: Document, branches: Sequence[Schema], *, tagged: bool
) -> Iterator[tuple[str, Sequence[int]]]:
    """A type, and the branches, by index, that the judge may enter for one value of that type.

    It leaves a branch at once for a wrong type, and sends an object that is `tagged` past every branch that
    wants another tag. A tag that is a fraction it cannot look up: such an object is not.
    """
    types = [_types(document, branch, 0) for branch in branches]
    for kind in sorted(_TYPES - {"object"}):
        yield kind, [index for index, taken in enumerate(types) if kind in taken]
    objects = [index for index, taken in enumerate(types) if "object" in taken]
    tag = tag_of(document, branches) if tagged else None
    if tag is None:
        yield "object", objects
        return
    wanted = {index: _wanted(document, branches[index], tag) for index in objects}
    whatever = [index for index, values in wanted.items() if values is None]
    by_value: dict[str | int | None, list[int]] = {}
    for index, values in wanted.items():
        for value in values or ():
            by_value.setdefault(value, []).append(index)
    if len(by_value) * len(whatever) > _MOST_TOLD_APART:
        yield "object", objects
        return
    for indices in by_value.values():
        yield "object", [*indices, *whatever]


def tag_of(document: Document, branches: Sequence[Schema]) -> str | None:
    """The member by which the judge tells `branches` apart: the commonest, of those required if it can be."""
    if len(branches) < _FEWEST_DISPATCHED:
        return None
    demands = _demands_of_all(document, branches)
    required = Counter(name for each in demands for name in each.required)
    present = Counter(name for each in demands for name in each.names)
    for counted in (required, present):
        for name, count in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
            if count >= 2 and sum(each.values(document, name) is not None for each in demands) >= 2:
                return name
    return None


def _demands_of_all(document: Document, branches: Sequence[Schema]) -> Sequence[_Demands]:
    """What each branch asks that takes objects; of none, where together they ask for too much."""
    demands: list[_Demands] = []
    told = 0
    for branch in branches:
        if "object" in _types(document, branch, 0):
            demands.append(_demands(document, branch))
            told += demands[-1].told
            if told > _MOST_TOLD_APART:
                return ()
    return demands


def guard(document: Document, branch: Schema, tag: str | None) -> dict[str, Any]:
    """What the judge can tell `branch` apart by: no value fits `branch` that does not fit this."""
    wanted = None if tag is None else _wanted(document, branch, tag)
    if wanted is None:
        return {}
    values = [value for value in wanted if value is not None]
    return {"properties": {tag: {"enum": values}}, "required": [] if None in wanted else [tag]}


def _wanted(document: Document, branch: Schema, tag: str) -> frozenset[str | int | None] | None:
    """The tags that `branch` takes, with `None` for none; or `None` if it takes any."""
    demands = _demands(document, branch)
    values = demands.values(document, tag)
    if values is None:
        return None
    return values if tag in demands.required else values | {None}


@dataclass(slots=True)
class _Demands:
    """What a branch asks of an object for certain."""

    required: set[str] = field(default_factory=set[str])
    members: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    @property
    def told(self) -> int:
        """How much it says."""
        return len(self.required) + sum(map(len, self.members))

    @property
    def names(self) -> set[str]:
        return {name for members in self.members for name in members}

    def values(self, document: Document, name: str) -> frozenset[str | int | None] | None:
        found = (_values(document, members[name], 0) for members in self.members if name in members)
        return next((values for values in found if values), None)


def _demands(document: Document, branch: Schema) -> _Demands:
    demands = _Demands()
    seen: set[int] = set()
    layer = [branch]
    for _ in range(_MAX_DEPTH):
        fresh = {id(schema): schema for schema in layer if not isinstance(schema, bool)}
        found = [schema for identity, schema in fresh.items() if identity not in seen]
        seen.update(fresh)
        for schema in found:
            demands.required.update(schema.get("required", ()))
            demands.members.append(schema.get("properties", {}))
        layer = [part for schema in found for part in _parts(document, schema)]
    return demands


def _parts(document: Document, schema: Mapping[str, Any]) -> Iterator[Schema]:
    yield from document.targets(schema, "$ref")
    yield from schema.get("allOf", ())


def _values(document: Document, schema: Schema, depth: int) -> frozenset[str | int | None]:
    if isinstance(schema, bool) or depth > _MAX_DEPTH:
        return frozenset()
    for target in document.targets(schema, "$ref"):
        if values := _values(document, target, depth + 1):
            return values
    listed = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if all(isinstance(each, str) or (type(each) is int and abs(each) < 2**63) for each in listed):
        return frozenset(listed)
    return frozenset()


def _types(document: Document, schema: Schema, depth: int) -> frozenset[str]:
    if isinstance(schema, bool):
        return _TYPES if schema else frozenset()
    named = schema.get("type", sorted(_TYPES))
    names = [named] if isinstance(named, str) else named
    taken = frozenset("number" if name == "integer" else name for name in names)
    if depth < _MAX_DEPTH:
        for target in document.targets(schema, "$ref"):
            taken &= _types(document, target, depth + 1)
    return taken

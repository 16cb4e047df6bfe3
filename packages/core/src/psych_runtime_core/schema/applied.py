"""Which schemas a schema applies, and to what of the value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.document import Document, Schema

Place: TypeAlias = Literal[
    "here", "branch", "name", "member", "each member", "other members", "item", "each item", "other items"
]
"""The value itself (`branch`: as one of several), its members' names, or one, each, or the other children."""

_ONE: dict[str, Place] = {
    "additionalProperties": "other members",
    "contains": "each item",
    "else": "here",
    "if": "here",
    "items": "other items",
    "not": "here",
    "propertyNames": "name",
    "then": "here",
    "unevaluatedItems": "each item",
    "unevaluatedProperties": "each member",
}
_LISTED: dict[str, Place] = {"allOf": "here", "anyOf": "branch", "oneOf": "branch", "prefixItems": "item"}
_BY_NAME: dict[str, Place] = {
    "dependencies": "here",
    "dependentSchemas": "here",
    "patternProperties": "each member",
    "properties": "member",
}
# Of these the judge asks only whether they fit: no error inside them is told.
_ASKED = frozenset({"anyOf", "contains", "if", "not", "oneOf"})


@dataclass(frozen=True, slots=True)
class Application:
    """`target` is applied at `place`, by `name` if it has one; `told` if its errors are the value's."""

    keyword: str
    place: Place
    name: str | int
    target: Schema
    told: bool


def applications(document: Document, schema: Mapping[str, Any]) -> Iterator[Application]:
    """What `schema` applies, in the order in which the judge builds it: that of the keywords' names."""
    for keyword in sorted(schema):
        told = keyword not in _ASKED
        for place, name, target in _of(document, schema, keyword):
            yield Application(keyword, place, name, target, told)


def _of(
    document: Document, schema: Mapping[str, Any], keyword: str
) -> Iterator[tuple[Place, str | int, Schema]]:
    held: Json = schema[keyword]
    if keyword in _ONE and isinstance(held, Mapping | bool):
        yield _ONE[keyword], "", held
    elif keyword in _LISTED and isinstance(held, list):
        for index, item in enumerate(held):
            if isinstance(item, Mapping | bool):
                yield _LISTED[keyword], index, item
    elif keyword in _BY_NAME and isinstance(held, Mapping):
        for name, item in sorted(held.items(), key=itemgetter(0)):
            if isinstance(item, Mapping | bool):
                yield _BY_NAME[keyword], name, item
    elif keyword in ("$ref", "$dynamicRef"):
        for target in document.targets(schema, keyword):
            yield "here", "", target

"""Whether a JSON Schema is of the strict kind that providers bind a model to, token by token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from psych_runtime_core.jsonvalue import Json

# What lets a schema that states no type still say what its values are.
_SAYS_WHAT = frozenset({"$ref", "anyOf", "const", "enum", "type"})
_BY_NAME = ("properties", "$defs", "definitions")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "not")
# A schema in one of these is bound by none of them.
_UNBOUND = frozenset(
    {
        "$dynamicRef",
        "contains",
        "dependentSchemas",
        "else",
        "if",
        "patternProperties",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
# Where a reference leads to a schema that is looked at here.
_SEEN = tuple(f"#/{key}/" for key in _BY_NAME)


def is_strict(schema: Json) -> bool:
    """Whether the root is an object, every object is closed, every property of one is required, and every
    array says what its items are.
    """
    return isinstance(schema, Mapping) and schema.get("type") == "object" and _holds(schema)


def _holds(schema: Json) -> bool:
    if not isinstance(schema, Mapping) or not _SAYS_WHAT.intersection(schema) or _UNBOUND & schema.keys():
        return False
    return _is_closed(schema) and _is_seen(schema.get("$ref", "#")) and all(map(_holds, _below(schema)))


def _is_closed(schema: Mapping[str, Json]) -> bool:
    if "items" not in schema and (_is_of("array", schema) or "prefixItems" in schema):
        return False
    named = schema.get("properties")
    if named is None and not _is_of("object", schema):
        return True
    required = schema.get("required", [])
    properties = set(named) if isinstance(named, Mapping) else set[str]()
    listed = set(required) if isinstance(required, list) else set[Json]()
    return schema.get("additionalProperties") is False and properties <= listed


def _is_of(kind: str, schema: Mapping[str, Json]) -> bool:
    kinds = schema.get("type")
    return kinds == kind or (isinstance(kinds, list) and kind in kinds)


def _is_seen(reference: Json) -> bool:
    return isinstance(reference, str) and (reference == "#" or reference.startswith(_SEEN))


def _below(schema: Mapping[str, Json]) -> Iterator[Json]:
    for key in _BY_NAME:
        named = schema.get(key)
        if isinstance(named, Mapping):
            yield from named.values()
    for key in _LISTED:
        listed = schema.get(key)
        if isinstance(listed, list):
            yield from listed
    for key in _SINGLE:
        if key in schema:
            yield schema[key]

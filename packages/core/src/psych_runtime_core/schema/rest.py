"""What is left of a schema that cannot be judged whole: whatever does not fit it does not fit the whole."""

from collections.abc import Container, Mapping
from typing import Any

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
# Of these less makes more: they are left out whole, with what says how often or what follows.
_TURNING = frozenset(
    {"contains", "else", "if", "maxContains", "minContains", "not", "oneOf", "then", "unevaluatedItems",
     "unevaluatedProperties"}
)  # fmt: skip


def without_patterns(schema: Json, kept: Container[str], *, named: bool = False) -> Any:
    """`schema` without any pattern but those `kept`."""
    if isinstance(schema, list):
        return [without_patterns(item, kept) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if named:
        return {name: without_patterns(item, kept) for name, item in schema.items()}
    left: dict[str, Any] = {
        key: item if key in DATA else without_patterns(item, kept, named=key in SCHEMAS_BY_NAME)
        for key, item in schema.items()
        if key not in _TURNING and (key != "pattern" or (isinstance(item, str) and item in kept))
    }
    names: Json = left.get("patternProperties")
    if isinstance(names, Mapping) and any(name not in kept for name in names):
        left["patternProperties"] = {name: item for name, item in names.items() if name in kept}
        # A member that went by one of them is no other member.
        left.pop("additionalProperties", None)
    return left


def outline(schema: Json) -> dict[str, Any]:
    """The types of a value and its members, and the members that it has to have."""
    if not isinstance(schema, Mapping):
        return {}
    left: dict[str, Any] = {}
    if (types := _types(schema.get("type"))) is not None:
        left["type"] = types
    required = schema.get("required")
    if isinstance(required, list) and all(isinstance(name, str) for name in required):
        left["required"] = list(dict.fromkeys(required))
    if isinstance(members := schema.get("properties"), Mapping):
        left["properties"] = {name: outline(member) for name, member in members.items()}
    if isinstance(items := schema.get("items"), Mapping) and "prefixItems" not in schema:
        left["items"] = outline(items)
    return left


def _types(named: Json) -> list[str] | None:
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list) or not names:
        return None
    found = [name for name in names if isinstance(name, str) and name in _TYPES]
    return list(dict.fromkeys(found)) if len(found) == len(names) else None

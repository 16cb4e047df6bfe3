"""A schema that stands elsewhere in a document than at its root."""

from collections.abc import Iterator, Mapping
from typing import Any

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME

_REFERENCES = frozenset({"$dynamicRef", "$ref"})
# What only the root of a document says of itself.
_OF_ROOTS = frozenset({"$id", "$schema"})


def moved(schema: Mapping[str, Json], place: str) -> dict[str, Any]:
    """`schema` as it stands at `place`, a pointer: its references lead to what they led to.

    Its own `$id` goes, unless a reference is resolved by it; then they lead to its root still.
    """
    if "$id" in schema and any(not each.startswith("#") for each in _references(schema)):
        return dict(schema)
    return {key: _held(key, item, place) for key, item in schema.items() if key not in _OF_ROOTS}


def _references(node: Json, named: bool = False) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    if not isinstance(node, Mapping):
        return
    for key, item in node.items():
        if not named and key in _REFERENCES and isinstance(item, str):
            yield item
        elif named or key not in DATA:
            yield from _references(item, not named and key in SCHEMAS_BY_NAME)


def _led(node: Json, place: str, named: bool = False) -> Any:
    if isinstance(node, list):
        return [_led(item, place) for item in node]
    if not isinstance(node, Mapping):
        return node
    if named:
        return {name: _led(item, place) for name, item in node.items()}
    # What has a name of its own is the root of what it holds.
    if isinstance(node.get("$id"), str):
        return node
    return {key: _held(key, item, place) for key, item in node.items()}


def _held(key: str, item: Json, place: str) -> Any:
    if key in DATA:
        return item
    if key in _REFERENCES and isinstance(item, str):
        return f"#{place}{item[1:]}" if item in ("", "#") or item.startswith("#/") else item
    return _led(item, place, key in SCHEMAS_BY_NAME)

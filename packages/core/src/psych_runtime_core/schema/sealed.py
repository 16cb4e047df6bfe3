"""A schema of the same verdict and the same errors, in which no error inside a branch is collected.

The judge collects the errors of every branch of an `anyOf` or `oneOf` that fails, though none of them is
told: at each level of a recursive value once more for each branch.
"""

from collections.abc import Mapping
from typing import Any

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME

_BRANCHES = frozenset({"anyOf", "oneOf"})
_REFERENCES = frozenset({"$dynamicRef", "$ref"})


def sealed(schema: Json) -> Any:
    """`schema` with each branch made a condition: it evaluates what the branch does, and tells no error."""
    if isinstance(schema, list):
        return [sealed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {keyword: _held(keyword, held) for keyword, held in schema.items()}


def _held(keyword: str, held: Json) -> Any:
    if keyword in DATA:
        return held
    if keyword in _REFERENCES and isinstance(held, str):
        resource, mark, pointer = held.partition("#")
        return resource + mark + _moved(pointer)
    if keyword in SCHEMAS_BY_NAME and isinstance(held, Mapping):
        return {name: sealed(item) for name, item in held.items()}
    if keyword in _BRANCHES and isinstance(held, list):
        return [{"if": sealed(branch), "else": False} for branch in held]
    return sealed(held)


def _moved(pointer: str) -> str:
    """`pointer`, led through the condition of each branch that it goes into."""
    first, *tokens = pointer.split("/")
    moved, keyword = [first], ""
    for index, token in enumerate(tokens):
        moved.append(token)
        if keyword in _BRANCHES:
            moved.append("if")
        named = keyword in _BRANCHES or keyword in SCHEMAS_BY_NAME
        keyword = "" if named else token
        if keyword in DATA:
            return "/".join([*moved, *tokens[index + 1 :]])
    return "/".join(moved)


def unsealed(schema: Json) -> Json:
    """The schema that `sealed` made `schema` of, to be shown."""
    if isinstance(schema, list):
        return [unsealed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if sorted(schema) == ["else", "if"] and schema["else"] is False:
        return unsealed(schema["if"])
    return {keyword: unsealed(held) for keyword, held in schema.items()}

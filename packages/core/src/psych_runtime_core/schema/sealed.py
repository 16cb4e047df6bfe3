"""A schema of the same verdict and the same errors, in which no error inside a branch is collected.

The judge collects the errors of every branch of an `anyOf` or `oneOf` that fails, though none of them is
told: at each level of a recursive value once more for each branch.
"""

from collections.abc import Mapping
from typing import Any

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.alternatives import guard, tag_of
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME, Document, Schema

_BRANCHES = frozenset({"anyOf", "oneOf"})
_REFERENCES = frozenset({"$dynamicRef", "$ref"})
# An author's comment that begins with it gets one more, so that it alone is ours.
_MARK = "\ue000"


def sealed(schema: Mapping[str, Any]) -> Any:
    """`schema` with each branch made a condition: it evaluates what the branch does, and tells no error."""
    return _Sealing(Document(schema)).of(schema)


def unsealed(schema: Json) -> Json:
    """The schema that `sealed` made `schema` of, to be shown."""
    if isinstance(schema, list):
        return [unsealed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if schema.get("$comment") == _MARK:
        return unsealed(schema["if"])
    return {keyword: _unsealed(keyword, held) for keyword, held in schema.items()}


def _unsealed(keyword: str, held: Json) -> Json:
    if keyword in DATA:
        return held
    if keyword == "$comment" and isinstance(held, str) and held.startswith(_MARK):
        return held.removeprefix(_MARK)
    if keyword in SCHEMAS_BY_NAME and isinstance(held, Mapping):
        return {name: unsealed(item) for name, item in held.items()}
    return _led(keyword, held, back=True) or unsealed(held)


class _Sealing:
    def __init__(self, document: Document) -> None:
        self._document = document

    def of(self, schema: Json) -> Any:
        if isinstance(schema, list):
            return [self.of(item) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        return {keyword: self._held(keyword, held) for keyword, held in schema.items()}

    def _held(self, keyword: str, held: Json) -> Any:
        if keyword in DATA:
            return held
        if keyword == "$comment" and isinstance(held, str) and held.startswith(_MARK):
            return _MARK + held
        if reference := _led(keyword, held):
            return reference
        if keyword in SCHEMAS_BY_NAME and isinstance(held, Mapping):
            return {name: self.of(item) for name, item in held.items()}
        if keyword in _BRANCHES and isinstance(held, list):
            return self._branches([branch for branch in held if isinstance(branch, Mapping | bool)])
        return self.of(held)

    def _branches(self, branches: list[Schema]) -> list[Schema]:
        # The judge does not look into a condition for what tells the branches apart: it stands beside.
        tag = tag_of(self._document, branches)
        return [
            {**guard(self._document, branch, tag), "if": self.of(branch), "else": False, "$comment": _MARK}
            for branch in branches
        ]


def _led(keyword: str, held: Json, *, back: bool = False) -> str:
    """A reference, led through the condition of each branch that it goes into, or `back`; else nothing."""
    if keyword not in _REFERENCES or not isinstance(held, str):
        return ""
    resource, mark, pointer = held.partition("#")
    led: list[str] = []
    within = ""
    tokens = iter(pointer.split("/"))
    for token in tokens:
        led.append(token)
        named = within in _BRANCHES or within in SCHEMAS_BY_NAME
        if within in _BRANCHES and back:
            next(tokens, None)
        elif within in _BRANCHES:
            led.append("if")
        within = "" if named else token
    return resource + mark + "/".join(led)

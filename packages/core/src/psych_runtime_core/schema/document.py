"""Where the references of a schema lead."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote, urljoin

from psych_runtime_core.jsonvalue import Json

Schema: TypeAlias = "Mapping[str, Any] | bool"
# What these hold is compared, not applied: an `$id` in it names nothing.
DATA = frozenset({"const", "default", "enum", "examples"})
# These map names to schemas; a name is no keyword.
SCHEMAS_BY_NAME = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

_DRAFTS = ("http://json-schema.org/draft-", "https://json-schema.org/draft/")


class Document:
    """A whole schema; its references are followed without judging anything."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._bases: dict[int, str] = {}
        self._named: dict[str, Json] = {"": root}
        self._dynamic: dict[str, list[Schema]] = {}
        self._enter(root, "", named=False)

    def targets(self, schema: Mapping[str, Any], keyword: str) -> Iterator[Schema]:
        """What the `$ref` or `$dynamicRef` of `schema` may apply; of the latter, every anchor of that name.

        A `ValueError` if that cannot be told. The schema of a draft itself is left out: it is small.
        """
        reference = schema.get(keyword)
        if not isinstance(reference, str):
            return
        anchors = self._dynamic.get(reference.rpartition("#")[2]) if keyword == "$dynamicRef" else None
        yield from anchors or self._resolved(schema, reference)

    def _resolved(self, schema: Mapping[str, Any], reference: str) -> Iterator[Schema]:
        uri, _, fragment = reference.partition("#")
        base = self._bases[id(schema)]
        uri = urljoin(base, uri) if uri else base
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            found = self._named.get(f"{uri}#{fragment}")
        else:
            found = _at(self._named.get(uri), fragment)
        if isinstance(found, bool) or (isinstance(found, Mapping) and id(found) in self._bases):
            yield found
        elif self._named.keys() != {""} or not uri.startswith(_DRAFTS):
            raise ValueError(f"{reference} leads to no schema that can be followed: write it as #/$defs/NAME")

    def _enter(self, value: Json, base: str, *, named: bool) -> None:
        if isinstance(value, list):
            for item in value:
                self._enter(item, base, named=False)
        if not isinstance(value, Mapping):
            return
        if not named:
            base = self._name(value, base)
        self._bases[id(value)] = base
        for key, item in value.items():
            if named or key not in DATA:
                self._enter(item, base, named=not named and key in SCHEMAS_BY_NAME)

    def _name(self, schema: Mapping[str, Any], base: str) -> str:
        if isinstance(own := schema.get("$id"), str):
            base = urljoin(base, own).removesuffix("#")
            self._named.setdefault(base, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := schema.get(keyword), str):
                self._named.setdefault(f"{base}#{anchor}", schema)
        if isinstance(anchor := schema.get("$dynamicAnchor"), str):
            self._dynamic.setdefault(anchor, []).append(schema)
        return base


def _at(place: Json, fragment: str) -> Json:
    for token in fragment.split("/")[1:]:
        if isinstance(place, Mapping):
            place = place.get(token.replace("~1", "/").replace("~0", "~"))
        elif isinstance(place, list) and token.isdecimal() and int(token) < len(place):
            place = place[int(token)]
        else:
            return None
    return place

"""A schema whose patterns are in the words of the engine, and each of them as it was written."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from psych_runtime_core.errors import pointer
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.dialect import engines
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME

_NAMED = "patternProperties"
_Put = Callable[[str], str]


class Worded(NamedTuple):
    """`written` are the patterns that had to be put otherwise, by what became of them."""

    schema: Any
    written: Mapping[str, str]


def worded(schema: Json) -> Worded:
    """`schema` as the judge is to have it."""
    told: dict[str, str] = {}
    taken: set[str] = set()
    alike: Counter[str] = Counter()

    def put(pattern: str) -> str:
        if pattern not in told:
            words = own = engines(pattern)
            # Two may come to be alike, and both hold: each has words of its own, wherever it stands.
            while own in taken:
                alike[words] += 1
                own = f"{words}(?:){{{alike[words]}}}"
            taken.add(own)
            told[pattern] = own
        return told[pattern]

    found = _put(schema, put)
    return Worded(found, {words: pattern for pattern, words in told.items() if words != pattern})


def as_written(schema: Json, written: Mapping[str, str]) -> Any:
    """A piece of such a schema, to be shown."""
    return _put(schema, lambda told: written.get(told, told)) if written else schema


def _put(schema: Json, put: _Put, *, named: bool = False) -> Any:
    if isinstance(schema, list):
        return [_put(item, put) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if named:
        return {name: _put(item, put) for name, item in schema.items()}
    return {keyword: _held(keyword, held, put) for keyword, held in schema.items()}


def _held(keyword: str, held: Json, put: _Put) -> Any:
    if keyword in DATA:
        return held
    if isinstance(held, str):
        if keyword in ("$ref", "$dynamicRef"):
            return _led(held, put)
        return put(held) if keyword == "pattern" else held
    if keyword == _NAMED and isinstance(held, Mapping):
        return _by_pattern(held, put)
    return _put(held, put, named=keyword in SCHEMAS_BY_NAME)


def _by_pattern(held: Mapping[str, Json], put: _Put) -> dict[str, Any]:
    return {put(pattern): _put(item, put) for pattern, item in held.items()}


def _led(reference: str, put: _Put) -> str:
    """A reference to what stands under a pattern."""
    resource, mark, path = reference.partition("#")
    tokens = path.split("/")
    for at in range(1, len(tokens)):
        pattern = unquote(tokens[at]).replace("~1", "/").replace("~0", "~")
        if tokens[at - 1] == _NAMED and (told := put(pattern)) != pattern:
            tokens[at] = quote(pointer((told,)))[1:]
    return resource + mark + "/".join(tokens)

"""Which schemas an author may use."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from jsonschema_rs import ValidationError

from psych_runtime_core.errors import BadSchema, pointer
from psych_runtime_core.jsonvalue import Json, thaw
from psych_runtime_core.schema.build import build, of_one_draft
from psych_runtime_core.schema.load import bounded
from psych_runtime_core.schema.patterns import MAX_PATTERNS_BYTES, measured
from psych_runtime_core.schema.reading import weighed
from psych_runtime_core.schema.size import depth
from psych_runtime_core.schema.worded import worded
from psych_runtime_core.schema.wording import NO_PATTERN, fault

MAX_SCHEMA_DEPTH = 64


def check_schema(schema: Mapping[str, Json], *, object_root: bool = False) -> None:
    """Raise `BadSchema` unless an author may use `schema`; with `object_root` it must be of an object.

    It has to be of the draft, at most 64 levels deep, every pattern buildable in linear time and bounded
    size, every reference resolvable inside the document, and its alternatives, patterns and listed values so
    few that any small value is judged at once.
    """
    if depth(schema) > MAX_SCHEMA_DEPTH:
        raise BadSchema(f"a schema has at most {MAX_SCHEMA_DEPTH} levels")
    if object_root and schema.get("type") != "object":
        raise BadSchema('the root must say "type": "object"')
    plain: dict[str, Any]
    plain, written = worded(of_one_draft(thaw(schema)))
    found = measured(plain)
    if found.refused is not None:
        raise BadSchema(f"a pattern cannot be one {NO_PATTERN}", _as_written(found.refused, written))
    if found.too_large:
        raise BadSchema(
            f"its patterns have more than {MAX_PATTERNS_BYTES:,} bytes together once they are compiled: "
            "use fewer, with less counted repetition, and let maxLength bound a length"
        )
    try:
        build(plain)
        if "$defs" in plain:
            build(_using_every_definition(plain))
        bounded(plain, weighed(found.sizes))
    except ValidationError as error:
        raise BadSchema(fault(error), _as_written(error.instance_path, written)) from None
    except ValueError as error:
        raise BadSchema(str(error)) from None


def _as_written(path: Sequence[str | int], written: Mapping[str, str]) -> tuple[str | int, ...]:
    """A place in a schema, where a pattern may be the name of another."""
    return tuple(written.get(token, token) if isinstance(token, str) else token for token in path)


def _using_every_definition(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with every definition in use, since the judge leaves out what nothing refers to."""
    names = (pointer((name,)) for name in schema["$defs"])
    references = [{"$ref": f"#/$defs{quote(name)}"} for name in names]
    return {**schema, "allOf": [*schema.get("allOf", ()), *references]}

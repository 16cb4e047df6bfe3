"""JSON Schema, draft 2020-12: the one judge of a schema, and of a value against one. It does no I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn
from urllib.parse import quote

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

from psych_runtime_core.errors import BadSchema, Violation, pointer
from psych_runtime_core.jsonvalue import Json, decode_json, encode_json, thaw, without_surrogates

MAX_SCHEMA_DEPTH = 64
MAX_JUDGED_WHOLE = 2_000
MAX_SHOWN_VALUE = 200
MAX_MESSAGE = 1_000
# Stands for the value in the judge's messages; a private character, which no message of its own holds.
_VALUE = "\ue000"


def check_schema(schema: Mapping[str, Json], *, object_root: bool = False) -> None:
    """Raise `BadSchema` unless an author may use `schema`; with `object_root` it must be of an object.

    It has to be of the draft, at most 64 levels deep, every pattern buildable in linear time, and every
    reference resolvable inside the document.
    """
    if _depth(schema) > MAX_SCHEMA_DEPTH:
        raise BadSchema(f"a schema has at most {MAX_SCHEMA_DEPTH} levels")
    if object_root and schema.get("type") != "object":
        raise BadSchema('the root must say "type": "object"')
    plain = thaw(schema)
    try:
        _build(plain)
        if "$defs" in plain:
            _build(_using_every_definition(plain))
    except ValidationError as error:
        raise BadSchema(_fault(error), tuple(error.instance_path)) from None
    except ValueError as error:
        raise BadSchema(str(error)) from None


def violations(value: Json, schema: Mapping[str, Json], *, limit: int = 20) -> tuple[Violation, ...]:
    """Where `value` does not fit `schema`, at most `limit` places, of a large value one; `()` when it fits.

    A lone surrogate counts as U+FFFD. A schema that cannot be built refuses nothing: whoever published it
    without `check_schema` judges by it.
    """
    judge = _judge(encode_json(schema))
    plain = _plain(encode_json(value))
    if judge is None or judge.is_valid(plain):
        return ()
    errors = islice(_errors(judge, plain), limit)
    return tuple(Violation(pointer(tuple(error.instance_path)), _said(error)) for error in errors)


def _errors(judge: Draft202012Validator, value: Json) -> Iterable[ValidationError]:
    # The judge collects every error, at ten microseconds each, before it gives the first: a million wrong
    # items would hold the loop for ten seconds. Of a large value it is asked for the first error alone.
    if _size(value) <= MAX_JUDGED_WHOLE:
        return judge.iter_errors(value)
    try:
        judge.validate(value)
    except ValidationError as error:
        return (error,)
    return ()


# --- building ------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _judge(canonical: bytes) -> Draft202012Validator | None:
    try:
        return _build(_plain(canonical))
    except ValueError:
        return None


def _build(schema: Any) -> Draft202012Validator:
    return Draft202012Validator(
        _of_one_draft(schema),
        validate_formats=False,
        retriever=_never,
        pattern_options=RegexOptions(),
        mask=_VALUE,
    )


def _never(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is outside the document")


_DATA = frozenset({"const", "default", "enum", "examples"})
_SCHEMAS_BY_NAME = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})


def _of_one_draft(schema: Json, named: bool = False) -> Any:
    """`schema` without `$schema`, at which the judge would change to another draft."""
    if isinstance(schema, list):
        return [_of_one_draft(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if named:
        return {name: _of_one_draft(item) for name, item in schema.items()}
    return {
        key: item if key in _DATA else _of_one_draft(item, key in _SCHEMAS_BY_NAME)
        for key, item in schema.items()
        if key != "$schema"
    }


def _using_every_definition(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with every definition in use, since the judge leaves out what nothing refers to."""
    names = (pointer((name,)) for name in schema["$defs"])
    references = [{"$ref": f"#/$defs{quote(name)}"} for name in names]
    return {**schema, "allOf": [*schema.get("allOf", ()), *references]}


def _depth(value: Json) -> int:
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list | tuple):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _size(value: Json) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_size, value.values()))
    if isinstance(value, list | tuple):
        return 1 + sum(map(_size, value))
    return 1


def _plain(canonical: bytes) -> Any:
    """A document as the judge takes it: plain containers, and no lone surrogate, which it cannot read."""
    plain = decode_json(canonical)
    if rb"\ud" not in canonical:
        return plain
    return decode_json(without_surrogates(json.dumps(plain, ensure_ascii=False)))


# --- wording -------------------------------------------------------------------------------------------


def _said(error: ValidationError) -> str:
    shown = _cut(encode_json(error.instance).decode(), MAX_SHOWN_VALUE)
    return _cut(error.message.replace(_VALUE, shown), MAX_MESSAGE)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _fault(error: ValidationError) -> str:
    if error.kind.name == "format":
        return f"{_said(error)} of linear time: write it without look-around and back-references"
    if error.kind.name == "$ref":
        return f"a reference does not resolve inside the document: {error.message}"
    return _said(error)

"""What the judge's errors say to a reader."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind

from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.schema.build import VALUE
from psych_runtime_core.schema.sealed import unsealed
from psych_runtime_core.schema.worded import as_written

MAX_SHOWN_VALUE = 200
MAX_MESSAGE = 1_000
# Where the draft itself says which words a type may be.
_TYPE = ["properties", "type", "anyOf"]
_AS_IT_IS: Mapping[str, str] = MappingProxyType({})
_TYPES = "array, boolean, integer, null, number, object and string"
NO_PATTERN = (
    "of linear time and bounded size: write it without look-around and back-references, with less counted "
    "repetition, and let maxLength bound a length"
)


def said(error: ValidationError, written: Mapping[str, str] = _AS_IT_IS) -> str:
    """What is wrong with the value, which is cut where it is long; `written` are patterns, as of `Worded`."""
    shown = _cut(encode_json(error.instance).decode(), MAX_SHOWN_VALUE)
    # What stands behind the first thousand characters is cut, however long the value would make it.
    return _cut(message(error, written)[: MAX_MESSAGE + 1].replace(VALUE, shown), MAX_MESSAGE)


def message(error: ValidationError, written: Mapping[str, str] = _AS_IT_IS) -> str:
    """What the judge says, of the schema as it was before it was sealed, and put in other words."""
    if not isinstance(error.kind, ValidationErrorKind.Not):
        return _of_a_pattern(error.message, written)
    held: Any = error.kind.schema
    shown = as_written(unsealed(held), written)
    if shown == held:
        return error.message
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return f"{text} is not allowed for {VALUE}"


def _of_a_pattern(told: str, written: Mapping[str, str]) -> str:
    for put, pattern in written.items():
        if told.endswith(end := f' does not match "{put}"'):
            return f'{told.removesuffix(end)} does not match "{pattern}"'
    return told


def fault(error: ValidationError) -> str:
    """What is wrong with a schema, and what to write instead."""
    if error.kind.name == "format":
        return f"{said(error)} {NO_PATTERN}"
    if error.schema_path[-3:] == _TYPE:
        given = _cut(encode_json(error.instance).decode(), MAX_SHOWN_VALUE)
        return f"{given} is no type: give one of {_TYPES}, or a list of them"
    if error.kind.name == "$ref":
        return f"a reference does not resolve inside the document: {error.message}"
    return said(error)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"

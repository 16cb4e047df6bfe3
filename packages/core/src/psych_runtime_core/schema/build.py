"""Building the judge: of one draft, with linear patterns, and without a way out of the document."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from jsonschema_rs import Draft202012Validator

from psych_runtime_core.jsonvalue import Json, decode_json, without_surrogates
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME
from psych_runtime_core.schema.patterns import OPTIONS

# Stands for the value in the judge's messages; a private character, which no message of its own holds.
VALUE = "\ue000"


def build(schema: dict[str, Any]) -> Draft202012Validator:
    """The judge by `schema`; a `ValueError` if there can be none."""
    return Draft202012Validator(
        schema,
        validate_formats=False,
        retriever=_never,
        pattern_options=OPTIONS,
        mask=VALUE,
    )


def _never(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is outside the document")


def of_one_draft(schema: Json, named: bool = False) -> Any:
    """`schema` without `$schema`, at which the judge would change to another draft."""
    if isinstance(schema, list):
        return [of_one_draft(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if named:
        return {name: of_one_draft(item) for name, item in schema.items()}
    return {
        key: item if key in DATA else of_one_draft(item, key in SCHEMAS_BY_NAME)
        for key, item in schema.items()
        if key != "$schema"
    }


def plain(canonical: bytes) -> Any:
    """A document as the judge takes it: plain containers, and no lone surrogate, which it cannot read."""
    value = decode_json(canonical)
    if rb"\ud" not in canonical:
        return value
    return decode_json(without_surrogates(json.dumps(value, ensure_ascii=False)))

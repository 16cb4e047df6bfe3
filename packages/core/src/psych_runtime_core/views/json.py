"""A view as plain JSON, for whoever prints it or sends it on."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, cast

from pydantic import BaseModel

from psych_runtime_core.records.tree import instant


def as_json(value: object) -> Any:
    """`value`, a view or a part of one, as dicts, lists and scalars.

    Amounts are their exact texts, instants RFC 3339 with six digits and `Z`, bytes base64. Raises
    `TypeError` for a part that no view holds.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return _container(value)


def _container(value: object) -> Any:
    if is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, BaseModel):
        return {name: as_json(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence):
        return [as_json(item) for item in cast("Sequence[object]", value)]
    raise TypeError(f"a {type(value).__name__} stands in no view")

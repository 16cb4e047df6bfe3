"""JSON of a stranger, read without trust: what is missing, or of another shape, is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

Object = Mapping[str, Any]
NOTHING: Object = {}


def members(value: object) -> Object:
    """The object that `value` is."""
    return cast("Object", value) if isinstance(value, dict) else NOTHING


def items(value: object) -> Sequence[object]:
    """The array that `value` is."""
    return cast("list[object]", value) if isinstance(value, list) else ()

"""JSON of a stranger, read without trust: what is missing, or of another shape, is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from psych_runtime.model.numbers import count_of
from psych_runtime_core.jsonvalue import EMPTY_OBJECT

Object: TypeAlias = Mapping[str, Any]

MAX_CHOICES = 128
"""Nobody offers more."""


def members(value: object) -> Object:
    """The object that `value` is."""
    return cast("Object", value) if isinstance(value, dict) else EMPTY_OBJECT


def items(value: object) -> Sequence[object]:
    """The array that `value` is."""
    return cast("list[object]", value) if isinstance(value, list) else ()


def choice_of(chunk: Object) -> Object:
    """The first choice in a chunk, empty without one; one without a number is the first."""
    for offered in items(chunk.get("choices"))[:MAX_CHOICES]:
        choice = members(offered)
        if choice and not count_of(choice.get("index")):
            return choice
    return EMPTY_OBJECT

"""How many values a piece of JSON holds, counted no further than is needed to refuse it."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

MAX_VALUES = 131_072
"""Of each piece of private matter that is kept: each is looked at. An answer that is as large as it may be
has room for so many short keys with a value."""


def too_many(value: object, most: int = MAX_VALUES) -> bool:
    """Whether `value` holds more than `most` values, at any depth."""
    unseen = [value]
    count = 0
    while unseen and count <= most:
        inner = _inner(unseen.pop())
        count += len(inner)
        unseen += [held for held in inner if isinstance(held, dict | list | tuple)]
    return count > most


def _inner(value: object) -> Collection[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list | tuple) else ()

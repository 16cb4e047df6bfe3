"""Provider matter as records hold it, and JSON values as the text a model would have written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import cast

from psych_runtime.model.chat.reply.faults import malformed, too_large
from psych_runtime.model.values import MAX_VALUES, too_many
from psych_runtime_core.errors import NotJson
from psych_runtime_core.frozen import MAX_DEPTH
from psych_runtime_core.jsonvalue import Json, freeze

# Made once: `json.dumps` makes one for each text.
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def opaque_of(value: object) -> Json:
    """`value`, unchangeable, its decimals as floats. Raises `Unreadable` for what no record can hold.

    It has to be the whole of what is kept in one place: its bounds are those of an `Assembly`.
    """
    if too_many(value):
        raise too_large(f"private matter of the provider has over {MAX_VALUES} values")
    try:
        return freeze(_plain(value, 0), surrogates=True)
    except NotJson as refused:
        raise malformed(f"private matter of the provider cannot be kept: {refused}") from None


def compact_json(value: object, depth: int = 0) -> str:
    """`value` as JSON text without blanks, keys in their order, every digit of a number kept."""
    _check(depth)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value).items()
        return (
            "{" + ",".join(f"{_quoted(key)}:{compact_json(item, depth + 1)}" for key, item in members) + "}"
        )
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return "[" + ",".join(compact_json(item, depth + 1) for item in items) + "]"
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else "null"
    return _quoted(value)


def json_size(value: object, depth: int = 0) -> int:
    """How many bytes of UTF-8 `value` takes as compact JSON. Raises `Unreadable` for endless nesting."""
    _check(depth)
    if isinstance(value, str):
        return text_size(value) + len('""')
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value).items()
        sizes = [text_size(key) + len('"":') + json_size(item, depth + 1) for key, item in members]
    elif isinstance(value, list | tuple):
        sizes = [json_size(item, depth + 1) for item in cast("Sequence[object]", value)]
    else:
        return len("null") if value is None else len(str(value))
    return len("[]") + sum(sizes) + max(len(sizes) - 1, 0)


def text_size(text: str) -> int:
    """How many bytes of UTF-8 `text` takes in JSON, between its quotes."""
    return len(_quoted(text).encode("utf-8", "surrogatepass")) - len('""')


def _plain(value: object, depth: int) -> object:
    _check(depth)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value).items()
        return {key: _plain(item, depth + 1) for key, item in members}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in cast("Sequence[object]", value)]
    return _number(value) if isinstance(value, Decimal) else value


def _number(value: Decimal) -> float | str:
    # What no float can hold stays as it was written.
    number = float(value) if value.is_finite() else math.nan
    return number if math.isfinite(number) else str(value)


def _check(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise malformed(f"a value in the reply is nested more than {MAX_DEPTH} levels deep")

"""JSON as it goes out: compact, in the order in which it was written, UTF-8."""

from __future__ import annotations

from json import JSONEncoder

from psych_runtime_core.jsonvalue import Json, without_surrogates

_COMPACT = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def wire_text(value: Json) -> str:
    """`value` as JSON text that has a form in UTF-8: what stands for half a character becomes U+FFFD."""
    return without_surrogates(_COMPACT.encode(value))


def wire_bytes(value: Json) -> bytes:
    """`wire_text` in UTF-8."""
    return wire_text(value).encode()

"""How large the patterns of a schema are once they are compiled."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME

# Some five thousand characters of ASCII counted out, or one in eight of any letters.
MAX_PATTERN_BYTES = 512 * 1024
MAX_PATTERNS_BYTES = 2 * 1024 * 1024
# What one pattern keeps of the texts it read, beside its program.
_READ_BYTES = 256 * 1024
_STEPS: tuple[int, ...] = tuple(1 << power for power in range(6, 20))

OPTIONS = RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=_READ_BYTES)


def pattern_sizes(schema: Mapping[str, Any]) -> dict[str, int]:
    """The size of each pattern of `schema`, in bytes; a `ValueError` if all are too large together.

    One that cannot be built has none.
    """
    sizes: dict[str, int] = {}
    total = 0
    for pattern in _patterns(schema):
        if pattern not in sizes:
            sizes[pattern] = _size(pattern)
        total += sizes[pattern]
        if total > MAX_PATTERNS_BYTES:
            raise ValueError(
                f"its patterns have more than {MAX_PATTERNS_BYTES:,} bytes together once they are compiled: "
                "use fewer, with less counted repetition, and let maxLength bound a length"
            )
    return sizes


def _size(pattern: str) -> int:
    """Up to twice the bytes that it has: tried, since the judge says only whether it fits. A long one has
    hardly fewer than its text.
    """
    if not _fits(pattern, MAX_PATTERN_BYTES):
        return 0
    tried = (limit for limit in _STEPS if limit >= len(pattern) // 2 and _fits(pattern, limit))
    return next(tried, MAX_PATTERN_BYTES)


def _fits(pattern: str, limit: int) -> bool:
    try:
        Draft202012Validator(
            {"pattern": pattern}, validate_formats=False, pattern_options=RegexOptions(size_limit=limit)
        )
    except ValueError:
        return False
    return True


def _patterns(schema: Json) -> Iterator[str]:
    left: list[Json] = [schema]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        elif isinstance(node, Mapping):
            for keyword, held in node.items():
                if keyword == "pattern" and isinstance(held, str):
                    yield held
                elif keyword == "patternProperties" and isinstance(held, Mapping):
                    yield from held
                if keyword in SCHEMAS_BY_NAME and isinstance(held, Mapping):
                    left += held.values()
                elif keyword not in DATA:
                    left.append(held)

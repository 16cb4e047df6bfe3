"""How large the patterns of a schema are once they are compiled."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.document import DATA, SCHEMAS_BY_NAME

# What the linear engine builds at most by itself: a title of five thousand characters of any script.
MAX_PATTERN_BYTES = 10 * 1024 * 1024
# Of distinct patterns; a MiB is built in ten milliseconds, four times over.
MAX_PATTERNS_BYTES = 32 * 1024 * 1024
# What one pattern keeps of the texts it read, beside its program.
_READ_BYTES = 256 * 1024
_STEPS: tuple[int, ...] = (*(4_096 << power for power in range(0, 12, 2)), MAX_PATTERN_BYTES)

OPTIONS = RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=_READ_BYTES)


@dataclass(slots=True)
class Patterns:
    """The patterns of a schema that can be built, by their bytes; and where the first is that cannot."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    refused: tuple[str | int, ...] | None = None
    too_large: bool = False
    """They have too many bytes together; then the rest was not tried."""

    @property
    def all(self) -> bool:
        """Whether every pattern can be built."""
        return self.refused is None and not self.too_large


def measured(schema: Mapping[str, Any]) -> Patterns:
    """What the patterns of `schema` come to, each counted once."""
    found = Patterns()
    tried: set[str] = set()
    total = 0
    for place, pattern in _patterns(schema):
        if pattern in tried:
            continue
        tried.add(pattern)
        if (size := _size(pattern)) is not None:
            found.sizes[pattern] = size
        elif found.refused is None:
            found.refused = place
        total += size or _tried(pattern)
        if total > MAX_PATTERNS_BYTES:
            found.sizes.pop(pattern, None)
            found.too_large = True
            break
    return found


def _size(pattern: str) -> int | None:
    """The bytes that it has, to the next step: tried, since the judge says only whether it fits. A long one
    has hardly fewer than its text.
    """
    return next((limit for limit in _STEPS if limit >= len(pattern) // 2 and _fits(pattern, limit)), None)


def _tried(pattern: str) -> int:
    """What trying one counts that cannot be built: at most all that is tried, if it can be read."""
    # A line of its own, so that no comment of the pattern goes on.
    return MAX_PATTERN_BYTES if _fits(f"(?:{pattern}\n){{0}}", MAX_PATTERN_BYTES) else _STEPS[0]


def _fits(pattern: str, limit: int) -> bool:
    try:
        Draft202012Validator(
            {"pattern": pattern}, validate_formats=False, pattern_options=RegexOptions(size_limit=limit)
        )
    except ValueError:
        return False
    return True


def _patterns(schema: Json) -> Iterator[tuple[tuple[str | int, ...], str]]:
    left: list[tuple[tuple[str | int, ...], Json]] = [((), schema)]
    while left:
        place, node = left.pop()
        if isinstance(node, list):
            left += (((*place, index), item) for index, item in enumerate(node))
        elif isinstance(node, Mapping):
            for keyword, held in node.items():
                if keyword == "pattern" and isinstance(held, str):
                    yield (*place, keyword), held
                elif keyword == "patternProperties" and isinstance(held, Mapping):
                    yield from (((*place, keyword, pattern), pattern) for pattern in held)
                if keyword in SCHEMAS_BY_NAME and isinstance(held, Mapping):
                    left += (((*place, keyword, name), item) for name, item in held.items())
                elif keyword not in DATA:
                    left.append(((*place, keyword), held))

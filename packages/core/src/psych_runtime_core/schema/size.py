"""What of a value decides how long it takes to judge."""

from collections.abc import Mapping

from psych_runtime_core.jsonvalue import Json


def places(value: Json) -> int:
    """How many values `value` is, with all that it holds."""
    if isinstance(value, Mapping):
        return 1 + sum(map(places, value.values()))
    if isinstance(value, list | tuple):
        return 1 + sum(map(places, value))
    return 1


def has_blind_tag(value: Json, tags: frozenset[str]) -> bool:
    """Whether a member named by `tags` is a number that the judge cannot look up: it enters every branch."""
    if isinstance(value, Mapping):
        return any(
            (name in tags and _is_blind(item)) or has_blind_tag(item, tags) for name, item in value.items()
        )
    return isinstance(value, list | tuple) and any(has_blind_tag(item, tags) for item in value)


def _is_blind(tag: Json) -> bool:
    return isinstance(tag, float) or (isinstance(tag, int) and abs(tag) >= 2**63)

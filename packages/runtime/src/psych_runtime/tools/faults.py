"""What pydantic found wrong with arguments, as places and plain words: no class names, no links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from psych_runtime_core.errors import Violation, pointer


def faults_of(error: ValidationError, arguments: object) -> tuple[Violation, ...]:
    """Each fault once, in pydantic's order, at its place in `arguments`."""
    found = (
        Violation(pointer(tuple(_place(details, arguments))), _words(details))
        for details in error.errors(include_url=False, include_context=False)
    )
    return tuple(dict.fromkeys(found))


_ABSENT = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})


def _place(details: ErrorDetails, arguments: Any) -> Iterator[str | int]:
    """Where in `arguments` it is. Pydantic's own place names union members and validators on the way too."""
    loc = details["loc"]
    value = arguments
    for at, token in enumerate(loc):
        if _holds(value, token):
            value = value[token]
        elif not (details["type"] in _ABSENT and at == len(loc) - 1):
            continue
        yield token


def _holds(value: Any, token: str | int) -> bool:
    if isinstance(value, list):
        return token in range(len(cast("list[object]", value)))
    return isinstance(value, dict) and token in value


def _words(details: ErrorDetails) -> str:
    said = _WORDS.get(details["type"]) or details["msg"]
    for prefix, ours in (("Input should ", "must "), ("Value error, ", ""), ("Assertion failed, ", "")):
        if said.startswith(prefix):
            return ours + said.removeprefix(prefix)
    return said


# Pydantic's own words for these name classes, or leave a model to guess what to do.
_WORDS = {
    **dict.fromkeys(_ABSENT, "must be given"),
    **dict.fromkeys(("extra_forbidden", "unexpected_keyword_argument"), "there is no such argument"),
    **dict.fromkeys(
        ("model_type", "dataclass_type", "dataclass_exact_type", "dict_type", "mapping_type"),
        "must be an object",
    ),
    "arguments_type": "must be an array or an object",
    "path_type": "must be a path",
    "none_required": "must be null",
}

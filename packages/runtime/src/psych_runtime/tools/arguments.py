"""A model's text as one JSON object, or what is wrong with it. Nothing is repaired or guessed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping

from psych_runtime.tools.problem import Problem
from psych_runtime_core.arguments import MAX_ARGUMENTS_BYTES, read_arguments
from psych_runtime_core.engine import wording
from psych_runtime_core.frozen import MAX_DEPTH
from psych_runtime_core.jsonvalue import Json, JsonObject, encode_json
from psych_runtime_core.records.facts import FailureKind


def parse_arguments(raw: str) -> JsonObject | Problem:
    """The object that `raw` is; blank is `{}`. Anything else is `malformed_arguments` and says where."""
    try:
        return read_arguments(raw)
    except json.JSONDecodeError as error:
        return _malformed(error.pos, error.msg)
    except ValueError as error:
        start = len(raw) - len(raw.lstrip())
        return _malformed(*next(_faults(raw), (start, str(error))))


def check_size(arguments: Mapping[str, Json]) -> Problem | None:
    """`arguments_too_large` for arguments that no model wrote and that have over 1 MiB as JSON."""
    size = len(encode_json(arguments))
    if size <= MAX_ARGUMENTS_BYTES:
        return None
    told = wording.arguments_too_large(size, MAX_ARGUMENTS_BYTES)
    return Problem(FailureKind.ARGUMENTS_TOO_LARGE, told)


def _malformed(position: int, reason: str) -> Problem:
    return Problem(FailureKind.MALFORMED_ARGUMENTS, f"character {position + 1}: {reason}")


# --- where it is -------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""
    (?P<text> "(?:[^"\\]|\\.)*+" ) (?P<colon> \s*+ : )?
    | (?P<open> [\[{] ) | (?P<close> [\]}] )
    | (?P<constant> -?Infinity | NaN )
    | (?P<number> -? [0-9] [0-9.eE+-]*+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def _faults(raw: str) -> Iterator[tuple[int, str]]:
    """What is wrong with text whose syntax is right, in its order; the decoder keeps no place of that."""
    keys: list[set[str]] = []
    for token in _TOKEN.finditer(raw):
        if token["open"]:
            keys.append(set())
            if len(keys) > MAX_DEPTH:
                yield token.start(), f"deeper than {MAX_DEPTH} levels"
        elif token["close"]:
            keys.pop()
        elif token["constant"]:
            yield token.start(), f"{token['constant']} is no JSON"
        elif token["number"] and not _fits(token["number"]):
            yield token.start(), "a number out of range"
        elif token["colon"]:
            key = json.loads(token["text"])
            if key in keys[-1]:
                yield token.start(), f"the key {token['text']} stands twice in one object"
            keys[-1].add(key)


def _fits(number: str) -> bool:
    try:
        return math.isfinite(float(number)) if re.search("[.eE]", number) else bool(str(int(number)))
    except ValueError:
        return False

"""An answer that must be JSON: how it is asked for, and whether what came fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from json import JSONDecodeError
from typing import TypeAlias

from psych_runtime_core.engine import wording
from psych_runtime_core.engine.fenced import blocks, lines_of
from psych_runtime_core.errors import NotJson, Violation, pointer
from psych_runtime_core.jsonvalue import Json, decode_json, encode_json, freeze
from psych_runtime_core.messages import ToolClass, ToolDefinition
from psych_runtime_core.records.base import cut
from psych_runtime_core.schema import moved, violations
from psych_runtime_core.spec.names import ANSWER_TOOL

_NO_JSON = Violation("", "it is no JSON value: write the value alone, or in one fenced block")
# A fault names what it is about, and that may be as long as the answer.
_MAX_FAULT = 200


@dataclass(frozen=True, slots=True)
class Fit:
    """An answer that fits its schema."""

    value: Json


@dataclass(frozen=True, slots=True)
class Misfit:
    """An answer that does not, and where."""

    faults: tuple[Violation, ...]


Judged: TypeAlias = Fit | Misfit


def judge_text(schema: Mapping[str, Json], text: str) -> Judged:
    """An answer given as text: the whole of it, or the one fenced block in it, is the value."""
    read = _read(text)
    if isinstance(read, Misfit):
        fenced = tuple(islice(blocks(lines_of(text)), 2))
        read = _read(fenced[0]) if len(fenced) == 1 else read
    return read if isinstance(read, Misfit) else _judged(schema, read)


def judge_call(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> Judged:
    """An answer given as the arguments of `final_answer`."""
    if not is_wrapped(schema):
        return _judged(schema, arguments)
    if set(arguments) != {"value"}:
        return Misfit(
            (Violation("", 'the arguments are {"value": …}, with the answer in it and nothing else'),)
        )
    return _judged(schema, arguments["value"])


def is_wrapped(schema: Mapping[str, Json]) -> bool:
    """Whether the answer stands below `value`, since arguments are always an object."""
    return schema.get("type") != "object"


def answer_tool(schema: Mapping[str, Json]) -> ToolDefinition:
    """The tool by which the answer is given; the same object for the same schema."""
    return _answer_tool(encode_json(schema))


# By its bytes, since Python takes 1 and true for one.
@lru_cache(maxsize=256)
def _answer_tool(canonical: bytes) -> ToolDefinition:
    schema: Mapping[str, Json] = decode_json(canonical)
    parameters = _wrapped(schema) if is_wrapped(schema) else schema
    return ToolDefinition(
        name=ANSWER_TOOL,
        description=wording.answer_tool(),
        parameters=parameters,
        annotations=frozenset({ToolClass.READ_ONLY}),
    )


def _wrapped(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    return {
        "type": "object",
        "properties": {"value": moved(schema, "/properties/value")},
        "required": ["value"],
        "additionalProperties": False,
    }


def _read(document: str) -> Json | Misfit:
    """The JSON value that `document` is, or why it is none."""
    try:
        return freeze(decode_json(document, unique_keys=True), surrogates=True)
    except JSONDecodeError:
        return Misfit((_NO_JSON,))
    except NotJson as refused:
        deep = refused.code == "too_deep"
        return Misfit((Violation("" if deep else pointer(refused.loc), refused.reason),))
    except ValueError as error:
        return Misfit((Violation("", cut(str(error), _MAX_FAULT)),))


def _judged(schema: Mapping[str, Json], value: Json) -> Judged:
    faults = violations(value, schema, limit=wording.ANSWER_FAULTS_SHOWN + 1)
    return Misfit(faults) if faults else Fit(value)

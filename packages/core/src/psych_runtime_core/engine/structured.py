"""An answer that must be JSON: how it is asked for, and whether what came fits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from psych_runtime_core.engine import wording
from psych_runtime_core.errors import Violation
from psych_runtime_core.jsonvalue import FrozenDict, Json, decode_json, freeze
from psych_runtime_core.messages import ToolClass, ToolDefinition
from psych_runtime_core.schema import violations
from psych_runtime_core.spec.names import ANSWER_TOOL

_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fit:
    """An answer that fits its schema."""

    value: Json


@dataclass(frozen=True, slots=True)
class Misfit:
    """An answer that does not, and where."""

    faults: tuple[Violation, ...]


Judged = Fit | Misfit


def judge_text(schema: Mapping[str, Json], text: str) -> Judged:
    """An answer given as text: the whole of it, or the one fenced block in it, is the value."""
    fenced = _FENCED.findall(text)
    for document in (text, *fenced) if len(fenced) == 1 else (text,):
        try:
            value = freeze(decode_json(document, unique_keys=True), surrogates=True)
        except ValueError:
            continue
        return _judged(schema, value)
    return Misfit((Violation("", "it is no JSON value: write the value alone, or in one fenced block"),))


def judge_call(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> Judged:
    """An answer given as the arguments of `final_answer`."""
    if not is_wrapped(schema):
        return _judged(schema, arguments)
    if arguments.keys() != {"value"}:
        return Misfit(
            (Violation("", 'the arguments are {"value": …}, with the answer in it and nothing else'),)
        )
    return _judged(schema, arguments["value"])


def _judged(schema: Mapping[str, Json], value: Json) -> Judged:
    faults = violations(value, schema, limit=wording.ANSWER_FAULTS_SHOWN + 1)
    return Misfit(faults) if faults else Fit(value)


def is_wrapped(schema: Mapping[str, Json]) -> bool:
    """Whether the answer stands below `value`, since arguments are always an object."""
    return schema.get("type") != "object"


@lru_cache(maxsize=256)
def answer_tool(schema: FrozenDict) -> ToolDefinition:
    """The tool by which the answer is given; the same object for the same schema."""
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
        "properties": {"value": _below_value(schema)},
        "required": ["value"],
        "additionalProperties": False,
    }


def _below_value(node: Json) -> Json:
    """`node` with its references to the document's root led to where that root stands now."""
    if isinstance(node, Mapping):
        return {key: _reference(key, item) for key, item in node.items()}
    if isinstance(node, list):
        return [_below_value(item) for item in node]
    return node


def _reference(key: str, item: Json) -> Json:
    if key == "$ref" and isinstance(item, str) and (item == "#" or item.startswith("#/")):
        return f"#/properties/value{item[1:]}"
    return _below_value(item)

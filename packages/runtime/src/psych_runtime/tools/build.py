"""Makes a `RegisteredTool` out of a function, and refuses what cannot be one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from psych_runtime.tools.callables import docstring_of, name_of
from psych_runtime.tools.docstring import first_paragraph, texts_of_args
from psych_runtime.tools.flags import check_flags
from psych_runtime.tools.given import ArgumentsReader, Given, reader_of
from psych_runtime.tools.json_schema import open_part, usable
from psych_runtime.tools.model import model_from
from psych_runtime.tools.probe import probe_callee_of
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.signature import Callee, callee_of, parameters_of
from psych_runtime_core.errors import ToolSchemaError
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.spec.issues import issues_from
from psych_runtime_core.spec.tools import CodeTool

MAX_DESCRIPTION = 4_096


def tool_from_function(
    fn: Callable[..., object], name: str | None, description: str | None, flags: Mapping[str, Any]
) -> RegisteredTool:
    """The tool whose arguments are the function's own parameters."""
    name = _checked_name(fn, name)
    callee = callee_of(fn, name)
    reader = model_from(parameters_of(fn, name), name)
    return _tool(name, callee, reader, description, flags)


def tool_from_model(
    fn: Callable[..., object], name: str, given: Given, description: str | None, flags: Mapping[str, Any]
) -> RegisteredTool:
    """The tool whose arguments `given` describes and whose function takes them by keyword."""
    name = _checked_name(fn, name)
    callee = callee_of(fn, name)
    reader = reader_of(given, name)
    _check_takes(callee, name, reader)
    return _tool(name, callee, reader, description, flags)


def _tool(
    name: str, callee: Callee, reader: ArgumentsReader, description: str | None, flags: Mapping[str, Any]
) -> RegisteredTool:
    checked = check_flags(flags, name)
    probe = checked["probe"]
    return RegisteredTool(
        name=name,
        fn=callee.fn,
        description=_checked_description(callee.fn, name, description),
        parameters=_checked_schema(callee.fn, name, reader, strict=checked["strict"]),
        **checked,
        _callee=callee,
        _reader=reader,
        _probe=None if probe is None else probe_callee_of(probe, name),
    )


def _check_takes(callee: Callee, tool: str, reader: ArgumentsReader) -> None:
    """The function must take by keyword all that may be given, and do with what is always given."""
    signature = inspect.signature(callee.fn)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    if reader.is_open and not takes_any:
        line = '`"additionalProperties": false`'
        reason = f"its JSON Schema is open: write {line} in it, or let the function take `**arguments`"
        raise ToolSchemaError(tool, None, reason)
    injected = () if callee.context is None else (callee.context,)
    for given in (reader.names, reader.always):
        try:
            signature.bind(**dict.fromkeys((*given, *injected)))
        except TypeError as error:
            reason = f"it cannot be called by keyword with {', '.join(given) or 'nothing'} ({error})"
            raise ToolSchemaError(
                tool, None, f"{reason}: give its parameters the names of the fields"
            ) from None


def _checked_name(fn: object, name: str | None) -> str:
    name = name_of(fn) if name is None else name
    if name is None:
        raise ToolSchemaError(repr(fn), None, "it has no name: write `register(…, name='search')`")
    try:
        return CodeTool(name=name).name
    except ValidationError as error:
        reason = (
            f"no Spec can grant a tool of this name, {issues_from(error)[0].message}: write `name=` another"
        )
        raise ToolSchemaError(str(name), None, reason) from None


def _checked_description(fn: object, tool: str, description: str | None) -> str:
    said = first_paragraph(docstring_of(fn)) if description is None else description
    if not said.strip():
        raise ToolSchemaError(
            tool, None, "a model is told nothing of it: write a docstring, or `description=`"
        )
    if len(said) > MAX_DESCRIPTION:
        reason = f"its description has {len(said)} characters, the limit is {MAX_DESCRIPTION}: write less"
        raise ToolSchemaError(tool, None, reason)
    return said


def _checked_schema(fn: object, tool: str, reader: ArgumentsReader, *, strict: bool) -> FrozenDict:
    schema = _described(reader, texts_of_args(docstring_of(fn)))
    frozen = usable(schema, tool)
    loose = open_part(schema) if strict else None
    if loose is not None:
        raise ToolSchemaError(
            tool, None, f"no provider can enforce its schema, so write no `strict`: {loose}"
        )
    return frozen


def _described(reader: ArgumentsReader, texts: Mapping[str, str]) -> dict[str, Any]:
    """The schema, where a parameter that nothing else is said of has its line of the docstring."""
    properties: Mapping[str, Any] = reader.schema.get("properties", {})
    described = {
        key: {**each, "description": texts[name]} if name in texts and "description" not in each else each
        for (key, each), name in zip(properties.items(), reader.names, strict=True)
    }
    return {**reader.schema, "properties": described} if properties else dict(reader.schema)

"""What describes a dynamic tool's arguments: a pydantic model, a dataclass, a TypedDict, a JSON Schema."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from dataclasses import Field as DataclassField
from typing import Any, NotRequired, Protocol, Required, TypeAlias, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field
from typing_extensions import ReadOnly, is_typeddict

from psych_runtime.tools.json_schema import schema_of, usable
from psych_runtime.tools.model import ABSENT, ArgumentsModel, model_from
from psych_runtime.tools.problem import MAX_FAULTS
from psych_runtime.tools.signature import NO_DEFAULT, Parameter
from psych_runtime_core.errors import NotJson, ToolSchemaError, Violation, pointer
from psych_runtime_core.jsonvalue import Json, freeze, thaw
from psych_runtime_core.schema import violations

Given: TypeAlias = type[Any] | Mapping[str, Any]


class ArgumentsReader(Protocol):
    """Makes what a function is called with out of JSON arguments."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it may give."""
        ...

    @property
    def always(self) -> tuple[str, ...]:
        """Those of them that it gives in any case."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether it may give others too."""
        ...

    def read(self, arguments: Mapping[str, Json]) -> dict[str, object] | tuple[Violation, ...]:
        """The arguments by parameter, or everything that is wrong with them."""
        ...


def reader_of(given: object, tool: str) -> ArgumentsReader:
    """The reader that `given` describes. Raises `ToolSchemaError` for what describes no closed object."""
    if isinstance(given, Mapping):
        return _from_schema(cast("Mapping[str, Any]", given), tool)
    if is_typeddict(given):
        return model_from(_keys(given, tool), tool)
    if isinstance(given, type) and issubclass(given, BaseModel):
        return _from_model(given, tool)
    if isinstance(given, type) and is_dataclass(given):
        return _from_dataclass(given, tool)
    reason = (
        f"{given!r} describes no arguments: give a pydantic model, a dataclass, a TypedDict or a JSON Schema"
    )
    raise ToolSchemaError(tool, None, reason)


# --- a pydantic model --------------------------------------------------------------------------------


def _from_model(model: type[BaseModel], tool: str) -> ArgumentsModel:
    if model.model_config.get("extra") != "forbid":
        reason = f"{model.__name__} is open: write `model_config = ConfigDict(extra='forbid')` in it"
        raise ToolSchemaError(tool, None, reason)
    try:
        schema = schema_of(model)
    except Exception as error:
        raise ToolSchemaError(tool, None, f"no schema can be made of {model.__name__}: {error}") from error
    return ArgumentsModel(model, schema, {name: name for name in model.model_fields})


# --- a dataclass, a TypedDict ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _DataclassModel(ArgumentsModel):
    """Builds the dataclass out of what it read, since its own `__post_init__` has a say too."""

    kind: type[Any]

    def _values(self, read: BaseModel) -> dict[str, object]:
        values = ArgumentsModel._values(self, read)
        built = self.kind(**values)
        return {name: getattr(built, name) for name in values}


def _from_dataclass(kind: type[Any], tool: str) -> _DataclassModel:
    inner = model_from(_fields(kind, tool), tool)
    return _DataclassModel(inner.model, inner.schema, inner.fields, kind)


def _fields(kind: type[Any], tool: str) -> list[Parameter]:
    hints = _hints(kind, tool)
    return [Parameter(field.name, hints[field.name], _default(field)) for field in fields(kind) if field.init]


def _default(field: DataclassField[Any]) -> object:
    if field.default_factory is not MISSING:
        return Field(default_factory=field.default_factory)
    return NO_DEFAULT if field.default is MISSING else field.default


def _keys(kind: Any, tool: str) -> list[Parameter]:
    if sys.version_info < (3, 12) and type(kind).__module__ == "typing":
        raise ToolSchemaError(tool, None, "on Python 3.11 write `from typing_extensions import TypedDict`")
    return [
        Parameter(name, _bare(hint), NO_DEFAULT if _required(name, hint, kind) else ABSENT)
        for name, hint in _hints(kind, tool).items()
    ]


def _required(name: str, hint: Any, kind: Any) -> bool:
    """Whether a key must be there. The class itself does not see a `NotRequired` whose hint was postponed."""
    qualifier = get_origin(hint)
    return qualifier is Required or (qualifier is not NotRequired and name in kind.__required_keys__)


def _hints(kind: type[Any], tool: str) -> dict[str, Any]:
    try:
        return get_type_hints(kind, include_extras=True)
    except Exception as error:
        # A string hint is evaluated: it may raise anything.
        reason = (
            f"a hint of {kind.__name__} does not resolve ({error}): its type must live at the top of a module"
        )
        raise ToolSchemaError(tool, None, reason) from None


def _bare(hint: Any) -> Any:
    """The hint inside `Required`, `NotRequired` and `ReadOnly`."""
    return _bare(get_args(hint)[0]) if get_origin(hint) in {Required, NotRequired, ReadOnly} else hint


# --- a JSON Schema -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SchemaReader:
    """Judges by the schema alone and gives plain JSON."""

    schema: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.get("properties", ()))

    @property
    def always(self) -> tuple[str, ...]:
        return tuple(self.schema.get("required", ()))

    @property
    def is_open(self) -> bool:
        closed = any(
            self.schema.get(key) is False for key in ("additionalProperties", "unevaluatedProperties")
        )
        return "patternProperties" in self.schema or not closed

    def read(self, arguments: Mapping[str, Json]) -> dict[str, object] | tuple[Violation, ...]:
        try:
            plain = freeze(arguments, surrogates=True)
        except NotJson as refused:
            return (Violation(pointer(refused.loc), refused.reason),)
        return violations(plain, self.schema, limit=MAX_FAULTS) or thaw(plain)


def _from_schema(schema: Mapping[str, Any], tool: str) -> _SchemaReader:
    return _SchemaReader(usable(schema, tool))
